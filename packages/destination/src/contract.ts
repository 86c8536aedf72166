import { deepStrictEqual, ok, strictEqual } from "node:assert";
import { connect as connectPlain, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { DefinedDestination } from "./define-destination.js";
import {
  type Attempt,
  type BatchResult,
  type Connect,
  DESTINATION_INTERFACE,
  type DeliveryResult,
  type OpenContext,
  type OpenDestination,
  type OutgoingMessage,
} from "./definition.js";

/** What an author's tests have for the contract: a real server that takes what the destination sends. */
export interface ContractWorld {
  readonly destination: DefinedDestination;
  /** Valid settings for a server that works. Called once for each check. */
  settings(): Promise<object>;
  /** Valid settings for a server that refuses connections. */
  unreachable(): Promise<object>;
  /** The ids of the messages that arrived, in any order, repetitions as well. */
  arrived(): Promise<readonly string[]>;
  /** Whether a batch that is delivered again may add its messages again. Default: false. */
  readonly addsRepeated?: boolean;
}

/** One promise of the contract, for any test runner: `for (const { name, run } of contractOf(world)) it(name, run);` */
export interface ContractCheck {
  readonly name: string;
  run(): Promise<void>;
}

/** Every promise that the collector relies on. A check that fails throws an `AssertionError`. */
export function contractOf(world: ContractWorld): readonly ContractCheck[] {
  return [
    {
      name: "is written for the interface of this package",
      run: async () => strictEqual(world.destination.interfaceVersion, DESTINATION_INTERFACE),
    },
    {
      name: "accepts its own settings, and names its target without a secret",
      run: () => namesTarget(world),
    },
    { name: "delivers a message, through a connection of the collector", run: () => deliversOne(world) },
    {
      name: "delivers messages at the same time, as many as its flow allows",
      run: () => deliversMany(world),
    },
    {
      name: "adds nothing if it delivers a batch again",
      run: () => (world.addsRepeated === true ? Promise.resolve() : repeatsBatch(world)),
    },
    {
      name: "asks for a retry if the server cannot be reached",
      run: async () => {
        const settings = await world.unreachable();
        await opened(world, settings, async (open) => {
          const [result] = await deliver(open, ["contract-2"]);
          strictEqual(result?.kind, "retry", JSON.stringify(result));
        });
      },
    },
    {
      name: "delivers nothing if the collector refuses the address",
      run: () => connectsOnlyAsAllowed(world),
    },
    {
      name: "ends a delivery whose signal is aborted",
      run: async () =>
        opened(world, await world.settings(), async (open) => {
          const controller = new AbortController();
          const delivery = deliver(open, ["contract-4"], controller.signal);
          controller.abort();
          await delivery;
        }),
    },
  ];
}

async function opened(
  { destination: { definition } }: ContractWorld,
  settings: object,
  use: (open: OpenDestination, context: TestContext) => Promise<void>,
): Promise<void> {
  const context = testContext();
  const open = await definition.open(settings as never, context);
  try {
    await use(open, context);
  } finally {
    await open.close?.();
    context.closeAll();
  }
}

async function namesTarget({ destination, settings }: ContractWorld): Promise<void> {
  const { definition } = destination;
  const given = await settings();
  deepStrictEqual(definition.check?.(given as never) ?? [], []);
  const target = definition.target?.(given as never) ?? "";
  for (const secret of secretsOf(destination, given))
    ok(!target.includes(secret), "the target contains a secret");
}

async function deliversOne(world: ContractWorld): Promise<void> {
  await opened(world, await world.settings(), async (open, context) => {
    const [result] = await deliver(open, ["contract-1"]);
    strictEqual(result?.kind, "delivered", JSON.stringify(result));
    ok((await world.arrived()).includes("contract-1"), "the message did not arrive");
    ok(context.connections > 0, "it connected without `context.connect`");
  });
}

async function deliversMany(world: ContractWorld): Promise<void> {
  const settings = await world.settings();
  const { concurrency } = world.destination.definition.flow?.(settings as never) ?? { concurrency: 1 };
  await opened(world, settings, async (open) => {
    const count = "deliverBatch" in open ? 20 : Math.min(concurrency, 20);
    const ids = Array.from({ length: count }, (_, index) => `contract-many-${index}`);
    for (const result of await deliver(open, ids))
      strictEqual(result.kind, "delivered", JSON.stringify(result));
    const arrived = new Set(await world.arrived());
    deepStrictEqual(
      ids.filter((id) => !arrived.has(id)),
      [],
    );
  });
}

/** What happens after a crash, and while there is no answer: the batch comes once more, as it was. */
async function repeatsBatch(world: ContractWorld): Promise<void> {
  const ids = ["contract-5", "contract-6", "contract-7"];
  await opened(world, await world.settings(), async (open) => {
    if (!("deliverBatch" in open)) return;
    await deliver(open, ids);
    await deliver(open, ids);
    const arrived = (await world.arrived()).filter((id) => ids.includes(id));
    deepStrictEqual([...arrived].sort(), ids);
  });
}

async function connectsOnlyAsAllowed({ destination, settings }: ContractWorld): Promise<void> {
  const context = testContext(() => new Error("refused by the collector"));
  // It may connect when it is opened, and fail there.
  const open = await Promise.resolve(destination.definition.open((await settings()) as never, context)).catch(
    () => undefined,
  );
  if (open === undefined) return;
  const [result] = await deliver(open, ["contract-3"]);
  await open.close?.();
  ok(result?.kind !== "delivered", "it delivered without the collector's connection");
}

/** Delivers messages, in one batch if the destination takes batches. Resolves with the result of each. */
async function deliver(
  open: OpenDestination,
  ids: readonly string[],
  signal?: AbortSignal,
): Promise<readonly DeliveryResult[]> {
  const messages = ids.map(testMessage).sort((one, other) => one.position - other.position);
  if (!("deliverBatch" in open))
    return Promise.all(messages.map((message) => settled(open.deliver(message, attempt(signal)))));
  const range = { from: messages[0]?.position ?? 0, to: messages.at(-1)?.position ?? 0 };
  const id = [range.from, range.to].map((position) => String(position).padStart(16, "0")).join("-");
  const batch = { range, id, messages };
  const delivered: Promise<BatchResult> = settled(open.deliverBatch(batch, attempt(signal)));
  const { others = [], ...whole } = await delivered;
  return messages.map((_, at) => others.find(({ index }) => index === at)?.result ?? whole);
}

/** A rejection counts as a retry, as in the collector. */
async function settled<Result extends DeliveryResult>(
  delivery: Promise<Result>,
): Promise<Result | DeliveryResult> {
  return delivery.catch((error: unknown) => ({ kind: "retry", reason: String(error) }));
}

function secretsOf({ definition }: DefinedDestination, settings: object): string[] {
  return Object.entries(settings).flatMap(([name, value]) =>
    definition.settings.properties[name]?.secret !== undefined && typeof value === "string" ? [value] : [],
  );
}

function testMessage(id: string): OutgoingMessage {
  const timestamp = "2026-01-01T00:00:00.000Z";
  const payload = { type: "track", event: "Contract", userId: "u1", messageId: id, timestamp };
  // The same message is at the same position.
  const position = [...id].reduce((sum, character) => (sum * 31 + character.charCodeAt(0)) % 2 ** 40, 0);
  return { id, sourceId: "src_contract", timestamp, position, receivedAtMs: Date.parse(timestamp), payload };
}

function attempt(signal: AbortSignal = new AbortController().signal): Attempt {
  return { number: 1, isLast: false, signal };
}

interface TestContext extends OpenContext {
  /** Connections that were opened. */
  readonly connections: number;
  closeAll(): void;
}

/** Connects like the collector, to any address. */
function testContext(refusal: () => Error | undefined = () => undefined): TestContext {
  const sockets: Socket[] = [];
  const connect: Connect = ({ host, port, tls = false, signal }) =>
    new Promise((resolve, reject) => {
      const refused = refusal();
      if (refused !== undefined) {
        reject(refused);
        return;
      }
      const socket = tls
        ? connectTls({ host, port, servername: host, rejectUnauthorized: false })
        : connectPlain({ host, port });
      sockets.push(socket);
      signal?.addEventListener("abort", () => socket.destroy(new Error("aborted")), { once: true });
      socket.once("error", reject);
      socket.once(tls ? "secureConnect" : "connect", () => resolve(socket));
    });
  return {
    connect,
    // biome-ignore lint/plugin: authors' tests have no clock of the collector.
    now: () => Date.now(),
    log() {},
    get connections() {
      return sockets.length;
    },
    closeAll() {
      for (const socket of sockets) socket.destroy();
    },
  };
}
