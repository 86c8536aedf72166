import type { SdkSend } from "../actors/history.js";
import type { Invariant } from "./invariant.js";

/** The longest `Retry-After` that an SDK follows. */
const LONGEST_MS = 300_000;
const TOO_MANY = 429;

/** `Retry-After` in answers of the collector. */
export const sdkWaitsAsAsked: Invariant = {
  name: "sdk-waits-as-asked",
  promise:
    "An SDK that sends a batch again waits first for as long as `Retry-After` said, up to 300 seconds. After a 429 it begins no other batch either.",
  check({ cast }) {
    const { refusals, sends, kept } = cast.history;
    const first = new Map<string, SdkSend>();
    for (const sent of sends) if (!first.has(sent.messageId)) first.set(sent.messageId, sent);
    return refusals.flatMap(({ sdk, run, atMs, status, waitMs, messageIds }) => {
      const own = new Set(messageIds);
      const later = sends.filter((sent) => sent.sdk === sdk && sent.run === run && sent.atMs > atMs);
      const again = later.find(({ messageId }) => own.has(messageId));
      const untilMs = atMs + Math.min(waitMs, LONGEST_MS);
      // One that it gave up is another matter. Its spool may send it at once, unless all have to wait.
      if (again === undefined || (status !== TOO_MANY && kept.has(again.messageId))) return [];
      const early = later.filter(
        (sent) =>
          sent.atMs < untilMs &&
          (own.has(sent.messageId) || (status === TOO_MANY && first.get(sent.messageId) === sent)),
      );
      return early.map(
        (sent) =>
          `${sent.messageId} was sent by ${sdk} ${sent.atMs - atMs} ms after a ${status} with Retry-After: ${waitMs / 1_000}`,
      );
    });
  },
};
