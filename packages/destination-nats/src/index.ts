import type { NatsConnection } from "@nats-io/transport-node";
import {
  type BatchResult,
  type Connect,
  type DefinedDestination,
  defineDestination,
  type OpenDestination,
  type OtherResult,
  type OutgoingMessage,
} from "@sluice/destination";
import { connected, failureOf, isAboutMessage, publish } from "./publish.js";
import { checkSettings, type NatsSettings, SETTINGS } from "./settings.js";

/** Messages that wait for the stream at the same time. */
const IN_FLIGHT = 500;

/** Writes each message to a stream. */
const nats: DefinedDestination = defineDestination<NatsSettings>({
  type: "nats",
  name: "NATS",
  description: "Writes each message to a stream of NATS JetStream",
  icon: "M2.5 2.5h11v8h-3l2 3-5-3h-5ZM5.5 8.5v-4l5 4v-4",
  settings: SETTINGS,
  check: checkSettings,
  takesDeletions: "message",
  timeoutMs: 60_000,
  target: ({ servers, prefix }) => `nats:${servers}/${prefix}`,
  batch: ({ maxAgeSeconds }) => ({ maxAgeMs: maxAgeSeconds * 1_000 }),
  open: (settings, { connect }) => opened(settings, connect),
});

export default nats;

/** One connection, which lasts until it is lost. */
function opened(settings: NatsSettings, connect: Connect): OpenDestination {
  let open: NatsConnection | undefined;

  const forget = async (): Promise<void> => {
    const connection = open;
    open = undefined;
    await connection?.close();
  };

  return {
    async deliverBatch({ messages }, { signal }): Promise<BatchResult> {
      const abort = (): void => void forget();
      signal.addEventListener("abort", abort, { once: true });
      try {
        if (open?.isClosed() !== false) open = await connected(settings, connect, signal);
        // It was aborted while it connected.
        if (signal.aborted) await forget();
        signal.throwIfAborted();
        return await publishAll(open, messages, settings);
      } catch (error) {
        return failureOf(error, settings);
      } finally {
        signal.removeEventListener("abort", abort);
      }
    },
    close: forget,
  };
}

/** Rejects if a message may be taken later: then all come again as they are, in order, and the stream knows those that it has. */
async function publishAll(
  connection: NatsConnection,
  messages: readonly OutgoingMessage[],
  settings: NatsSettings,
): Promise<BatchResult> {
  const others: OtherResult[] = [];
  let place = "";
  for (let from = 0; from < messages.length; from += IN_FLIGHT) {
    const ended = await Promise.allSettled(
      messages.slice(from, from + IN_FLIGHT).map((message) => publish(connection, settings.prefix, message)),
    );
    ended.forEach((end, index) => {
      if (end.status === "fulfilled") {
        place = end.value;
        return;
      }
      if (!isAboutMessage(end.reason)) throw end.reason;
      others.push({ index: from + index, result: failureOf(end.reason, settings) });
    });
  }
  return { kind: "delivered", reason: "stored", detail: place, others };
}
