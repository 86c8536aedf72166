import type { DestinationName, Ledger } from "./ledger.ts";
import { until } from "./until.ts";
import {
  type AttemptMade,
  type Facts,
  type RepeatedMessage,
  repeatedMessages,
  type StoredMessage,
} from "./verdict.ts";

const NOTICES_SOURCE = "src_audiences";
const PAGE = 500;
/** Retries that failed late wait for up to a minute. */
const CALM_WITHIN_MS = 120_000;

/** The collector, or the cluster, that is asked. */
export interface Witness {
  readonly sourceIds: readonly string[];
  readonly hasAudience: boolean;
  readonly destinationIds: ReadonlyMap<string, DestinationName>;
  readonly isFirstProcess: boolean;
  readonly ledger: Ledger;
  api<T>(method: string, path: string): Promise<T>;
  /** The text of `/metrics` of the collector that does the work. */
  metrics(): Promise<string>;
}

interface Page<T> {
  readonly items: readonly T[];
  readonly nextCursor?: string;
}

interface UsageDay {
  readonly accepted: number;
  readonly delivered: number;
}

interface ListedMessage {
  readonly messageId: string;
  readonly message: { readonly userId: string };
  readonly outcomes: readonly { readonly destinationId: string; readonly state: string }[];
}

interface MessageWithAttempts {
  readonly outcomes: readonly {
    readonly destinationId: string;
    readonly attempts: readonly AttemptMade[];
  }[];
}

/** Waits until everything that was stored has ended, and reads what the collector says about it. */
export async function readFacts(world: Witness): Promise<Facts> {
  // While calls still fail, in a thread that writes less than the others, nothing can be asked.
  const isOver = (): Promise<boolean> => isCalm(world).catch(() => false);
  await until("no delivery waits", isOver, CALM_WITHIN_MS).catch(async (error: Error) => {
    const paths = ["/health", "/deliveries?state=pending&limit=5"];
    if (world.hasAudience) paths.push("/audience-engine");
    const state = await Promise.all(paths.map((path) => world.api("GET", path)));
    throw new Error(`${error.message}: ${JSON.stringify(state)}`);
  });
  let facts = await readOnce(world);
  // Outcomes are stored in groups, a moment after the delivery.
  await until("every outcome is stored", async () => {
    if (!hasPending(facts)) return true;
    facts = await readOnce(world);
    return false;
  });
  // Only now: while it waited, messages may have been repeated.
  return { ...facts, attempts: await attemptsOf(world, repeatedMessages(world.ledger)) };
}

/** By destination and message. */
async function attemptsOf(
  world: Witness,
  repeated: readonly RepeatedMessage[],
): Promise<Map<string, readonly AttemptMade[]>> {
  const found = new Map<string, readonly AttemptMade[]>();
  for (const { destination, messageId } of repeated) {
    // Ids of messages differ between sources, but a notice has the id that the audience made.
    const of = destination === "notices" ? `?sourceId=${NOTICES_SOURCE}` : "";
    const path = `/messages/${encodeURIComponent(messageId)}${of}`;
    const { outcomes } = await world.api<MessageWithAttempts>("GET", path);
    const attempts = outcomes
      .filter(({ destinationId }) => nameOf(world, destinationId) === destination)
      .flatMap((outcome) => outcome.attempts);
    found.set(`${destination} ${messageId}`, attempts);
  }
  return found;
}

async function isCalm(world: Witness): Promise<boolean> {
  // Audiences first: until they have read everything, they make messages for destinations.
  if (world.hasAudience) {
    const { behind: unread } = await world.api<{ behind: number }>("GET", "/audience-engine");
    if (unread > 0) return false;
  }
  const { destinations } = await world.api<{ destinations: { behind: number; waiting: number }[] }>(
    "GET",
    "/health",
  );
  return destinations.every(({ behind, waiting }) => behind + waiting === 0);
}

function hasPending({ stored, notices }: Pick<Facts, "stored" | "notices">): boolean {
  return [...stored, ...notices].some(
    ({ outcomes }) => outcomes.length === 0 || outcomes.some(({ state }) => state === "pending"),
  );
}

async function readOnce(world: Witness): Promise<Omit<Facts, "attempts">> {
  const stored: StoredMessage[] = [];
  const days: UsageDay[] = [];
  for (const sourceId of world.sourceIds) {
    stored.push(...(await messagesOf(world, sourceId)));
    days.push(...(await world.api<{ days: UsageDay[] }>("GET", `/sources/${sourceId}/usage`)).days);
  }
  const notices = await messagesOf(world, NOTICES_SOURCE);
  const failed = await pages<{ messageId: string; destinationId: string }>(world, "/deliveries?state=failed");
  const metrics = await readMetrics(world);
  const sum = (field: "accepted" | "delivered"): number => days.reduce((total, day) => total + day[field], 0);
  return {
    stored,
    notices,
    listedAsFailed: failed.map(
      ({ messageId, destinationId }) => `${nameOf(world, destinationId)} ${messageId}`,
    ),
    counts: {
      storedMessages: metrics.get("sluice_store_messages") ?? 0,
      usageAccepted: sum("accepted"),
      usageDelivered: sum("delivered"),
      accepted: metrics.get('sluice_ingest_messages_total{result="accepted"}') ?? 0,
      ended: endedOf(world, metrics),
    },
    isFirstProcess: world.isFirstProcess,
    hasAudience: world.hasAudience,
  };
}

function nameOf(world: Witness, destinationId: string): DestinationName {
  const name = world.destinationIds.get(destinationId);
  if (name === undefined) throw new Error(`There is no destination ${destinationId}`);
  return name;
}

async function messagesOf(world: Witness, sourceId: string): Promise<StoredMessage[]> {
  const listed = await pages<ListedMessage>(world, `/messages?sourceId=${sourceId}`);
  return listed.map(({ messageId, message, outcomes }) => ({
    messageId,
    userId: message.userId,
    outcomes: outcomes.map(({ destinationId, state }) => ({
      destination: nameOf(world, destinationId),
      state,
    })),
  }));
}

async function pages<T>(world: Witness, path: string): Promise<T[]> {
  const all: T[] = [];
  for (let cursor: string | undefined; ; ) {
    const from = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await world.api<Page<T>>("GET", `${path}&limit=${PAGE}${from}`);
    all.push(...page.items);
    cursor = page.nextCursor;
    if (cursor === undefined) return all;
  }
}

/** Values by series, as in `name{label="…"}`. */
async function readMetrics(world: Witness): Promise<Map<string, number>> {
  const text = await world.metrics();
  const sums = new Map<string, number>();
  for (const line of text.split("\n").filter((one) => one.startsWith("sluice_"))) {
    const at = line.lastIndexOf(" ");
    sums.set(line.slice(0, at), Number(line.slice(at + 1)));
  }
  return sums;
}

function endedOf(world: Witness, metrics: ReadonlyMap<string, number>): Map<string, number> {
  const ended = new Map<string, number>();
  for (const [series, value] of metrics) {
    const labels = /^sluice_deliveries_total\{destination="(.+?)",state="(.+?)"\}/.exec(series);
    if (labels !== null) ended.set(`${nameOf(world, labels[1] ?? "")} ${labels[2]}`, value);
  }
  return ended;
}
