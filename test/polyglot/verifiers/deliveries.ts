import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { signStandard } from "@sluice/webhooks";
import { runCollector } from "../../../docs/test/running-collector.ts";
import { until } from "../../chaos/until.ts";

/** A request as the collector sent it, or a changed copy, and a secret to verify it with. */
export interface Delivery {
  readonly secret: string;
  /** The secret is used as text. */
  readonly isRaw: boolean;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What verifiers have to say. */
export interface Case {
  readonly name: string;
  readonly delivery: Delivery;
  /** Whether Standard Webhooks accepts it. */
  readonly isStandard: boolean;
  /** Whether `X-Signature` is right. It covers only the body. */
  readonly isSigned: boolean;
}

const base64 = (text: string): string => `whsec_${Buffer.from(text).toString("base64")}`;

/** By the name of a destination: the secrets that it signs with, and whether it sends batches. */
const DESTINATIONS: Readonly<Record<string, readonly [secrets: readonly string[], isBatch?: "batch"]>> = {
  text: [["a secret of your own"]],
  unicode: [["Geheimnis ☂ 🎈"]],
  base64: [[base64("0123456789abcdef01234567")]],
  rotated: [[base64("the newer secret, of 32 bytes ..."), base64("the older secret, of 32 bytes ...")]],
  batches: [["a secret of your own"], "batch"],
};

/** A body grows when the collector writes numbers out, so 32 KB of message and as much of context make some hundred KB. */
const LONG_LIST = `[${Array.from({ length: 6_300 }, () => "1E15").join()}]`;
const MESSAGES = [
  `{"type":"track","event":"Ordered","userId":"u1","messageId":"plain","properties":{"total":129.95}}`,
  `{"type":"track","event":"Größe ✓","userId":"Zoë 🎈 שלום","messageId":"ünï ✓","properties":{"text":"\\u2028 \\ud83c\\udf88 \\u0001","big":18446744073709551615}}`,
  `{"type":"identify","userId":"u1","messageId":"large","traits":{"list":${LONG_LIST}}}`,
];
const BODY = `{"context":{"list":${LONG_LIST}},"batch":[${MESSAGES[2]}]}`;
const LARGE_BYTES = 200_000;

/** What a built collector sends to a receiver, once for each destination. */
export async function collectDeliveries(): Promise<ReadonlyMap<string, readonly Delivery[]>> {
  const { env, close } = await runCollector();
  const deliveries = new Map(Object.keys(DESTINATIONS).map((name) => [name, [] as Delivery[]]));
  const receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const name = request.url?.slice(1) ?? "";
    const [[secret = ""] = []] = DESTINATIONS[name] ?? [];
    const headers = request.headers as Record<string, string>;
    const body = Buffer.concat(chunks).toString();
    deliveries.get(name)?.push({ secret, isRaw: !secret.startsWith("whsec_"), body, headers });
    response.end();
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const { port } = receiver.address() as AddressInfo;
  const post = async (path: string, authorization: string, body: string): Promise<void> => {
    const headers = { authorization, "content-type": "application/json" };
    const response = await fetch(env.SLUICE_URL + path, { method: "POST", headers, body });
    if (!response.ok) throw new Error(await response.text());
  };
  try {
    for (const [name, [sharedSecret, isBatch]] of Object.entries(DESTINATIONS)) {
      const webhooks = [{ url: `http://127.0.0.1:${port}/${name}` }];
      const settings = {
        webhooks,
        sharedSecret,
        ...(isBatch && { batch: { maxMessages: 100, maxAgeMs: 10 } }),
      };
      const destination = {
        type: "webhooks",
        name,
        sourceIds: [env.SLUICE_SOURCE_ID],
        settings,
        enabled: true,
      };
      await post("/api/v1/destinations", `Bearer ${env.SLUICE_ADMIN_TOKEN}`, JSON.stringify(destination));
    }
    const basic = `Basic ${Buffer.from(`${env.SLUICE_WRITE_KEY}:`).toString("base64")}`;
    await post("/v1/batch", basic, `{"batch":[${MESSAGES.slice(0, 2).join()}]}`);
    await post("/v1/batch", basic, BODY);
    await until("all deliveries arrive", () =>
      [...deliveries.values()].every(
        (received) => received.flatMap(({ body }) => messagesIn(body)).length === MESSAGES.length,
      ),
    );
    return deliveries;
  } finally {
    receiver.close();
    await close();
  }
}

function messagesIn(body: string): readonly unknown[] {
  const parsed = JSON.parse(body) as { readonly messages?: readonly unknown[] };
  return parsed.messages ?? [parsed];
}

/** The deliveries as they are, and with a change that verifiers have to notice. */
export function casesOf(deliveries: ReadonlyMap<string, readonly Delivery[]>): Case[] {
  return [...deliveries].flatMap(([destination, received]) =>
    received.flatMap((delivery) => {
      const name = `${destination}: ${delivery.body.slice(0, 60)} (${delivery.body.length})`;
      const [[, older] = []] = DESTINATIONS[destination] ?? [];
      return [
        { name, delivery, isStandard: true, isSigned: true },
        ...(older === undefined
          ? []
          : [
              // The first secret alone signs `X-Signature`.
              {
                name: `${name}, older secret`,
                delivery: { ...delivery, secret: older },
                isStandard: true,
                isSigned: false,
              },
            ]),
        ...changes(delivery).map(([change, changed, isSigned = true]) => ({
          name: `${name}, ${change}`,
          delivery: { ...delivery, ...changed },
          isStandard: false,
          isSigned,
        })),
      ];
    }),
  );
}

/** `isSigned`: whether `X-Signature` stays right. */
function changes(delivery: Delivery): [change: string, changed: Partial<Delivery>, isSigned?: boolean][] {
  const { body, headers, secret, isRaw } = delivery;
  const withHeaders = (changed: Record<string, string>) => ({ headers: { ...headers, ...changed } });
  const id = headers["webhook-id"] ?? "";
  const time = Number(headers["webhook-timestamp"]);
  const signature = headers["webhook-signature"] ?? "";
  const at = (seconds: number) =>
    withHeaders(
      signStandard(body, secret, { id, timestampMs: (time + seconds) * 1_000 }) as Record<string, string>,
    );
  return [
    ["another body", { body: body.replace('"', '" ') }, false],
    ["a longer body", { body: `${body} ` }, false],
    ["another id", withHeaders({ "webhook-id": `${id}x` })],
    ["another time", withHeaders({ "webhook-timestamp": String(time - 1) })],
    [
      "another signature",
      withHeaders({ "webhook-signature": `v1,${btoa("x".repeat(32))}`, "x-signature": "0".repeat(40) }),
      false,
    ],
    [
      "no v1 signature",
      withHeaders({ "webhook-signature": signature.replaceAll("v1,", "v2,"), "x-signature": "x" }),
      false,
    ],
    ["an old time", at(-600)],
    ["a time in the future", at(600)],
    ["another secret", { secret: isRaw ? `${secret}x` : base64("another secret, of 32 bytes .....") }, false],
  ];
}

export const isLarge = ({ body }: Delivery): boolean => body.length > LARGE_BYTES;
