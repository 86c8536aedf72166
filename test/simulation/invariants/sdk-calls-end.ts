import type { History, SdkWait } from "../actors/history.js";
import type { Invariant } from "./invariant.js";

/** Turns of the event loop, and writes to a disk, after a time limit. */
const SOON_MS = 50;
/** What `close()` may take after its time limit, to end connections. */
const CLOSES_WITHIN_MS = 1_000;

/** Promises of the SDK. */
export const sdkCallsEnd: Invariant = {
  name: "sdk-calls-end",
  promise:
    "`flush()` and `close()` end within their time limit, and count no more messages than were held; without a limit, `flush()` ends when all of them have. `ready()` ends when there is room. `close()` leaves none of them waiting.",
  check({ cast }) {
    return cast.history.waits.flatMap((wait) => {
      const wrong = faultOf(wait, cast.history, cast.sdks.find(({ plan }) => plan.name === wait.sdk)?.plan);
      return wrong === undefined ? [] : [`${wait.what}() of ${wait.sdk} at ${wait.calledAtMs} ${wrong}`];
    });
  },
};

function faultOf(
  {
    sdk,
    run,
    what,
    timeoutMs,
    calledAtMs,
    endedAtMs,
    held,
    heldAtEnd = 0,
    leftAtEnd = 0,
    isOff,
    result,
  }: SdkWait,
  { closed, calls, hooks }: History,
  plan: { readonly maxQueueSize: number; readonly spools: boolean } | undefined,
): string | undefined {
  if (endedAtMs === undefined) return closed.has(`${sdk} ${run}`) ? "never ended" : undefined;
  const mostMs =
    timeoutMs === undefined ? undefined : timeoutMs + (what === "close" ? CLOSES_WITHIN_MS : SOON_MS);
  if (mostMs !== undefined && endedAtMs - calledAtMs > mostMs)
    return `took ${endedAtMs - calledAtMs} ms; its limit was ${timeoutMs} ms`;
  if (
    what === "ready" &&
    isOff !== true &&
    heldAtEnd >= (plan?.maxQueueSize ?? 0) &&
    !closed.has(`${sdk} ${run}`)
  )
    return `ended while ${heldAtEnd} messages were held`;
  if (what === "flush" && timeoutMs === undefined && leftAtEnd > 0)
    return `ended while ${leftAtEnd} of its messages were held`;
  if (result === undefined) return undefined;
  const { delivered, failed, refused, spooled = 0, queued = 0 } = result;
  // The last word of a client has everything that was refused since it was created.
  const counted = delivered + failed + (what === "close" ? 0 : refused) + spooled + queued;
  // Those that `beforeSend` drops are held, too, until it has.
  const dropped = calls.filter(
    (call) => call.sdk === sdk && call.run === run && hooks.get(call.messageId) === "drops",
  );
  if (counted - queued > held + dropped.length) return `counted ${counted} messages; ${held} were held`;
  return undefined;
}
