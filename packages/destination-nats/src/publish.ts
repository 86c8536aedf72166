import { headers, type NatsConnection } from "@nats-io/transport-node";
import type { OutgoingMessage } from "@sluice/destination";
import { Refused } from "./failure.js";

/** Until the stream has confirmed a message. */
const ACK_TIMEOUT_MS = 15_000;

/** Publishes a message, and resolves when a stream has stored it, now or before. */
export async function publish(
  connection: NatsConnection,
  prefix: string,
  { id, sourceId, payload, trace = {} }: OutgoingMessage,
): Promise<void> {
  const head = headers();
  // A stream adds what it has had within its window no more. Clients of two sources may choose the same id.
  head.set("Nats-Msg-Id", `${sourceId}/${id}`);
  const words = { "message-id": id, "source-id": sourceId, type: payload.type, ...trace };
  for (const [name, value] of Object.entries(words)) head.set(name, value);
  const answer = await connection.request(`${prefix}.${sourceId}.${payload.type}`, JSON.stringify(payload), {
    headers: head,
    timeout: ACK_TIMEOUT_MS,
  });
  const { stream, error } = answer.json<{
    readonly stream?: string;
    readonly error?: { readonly err_code?: number; readonly description?: string };
  }>();
  if (error !== undefined) throw new Refused(error.err_code ?? 0, error.description ?? "refused");
  if (typeof stream !== "string") throw new Refused(0, "Something that is no stream has answered");
}
