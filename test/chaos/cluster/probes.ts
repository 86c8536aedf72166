import type { Ledger } from "../ledger.ts";
import { pause } from "../until.ts";

const EVERY_MS = 60;
const TIMEOUT_MS = 8_000;
/** Each probe has a user of its own: nobody repeats a probe, so that there is no order among them. */
const USERS = Number.MAX_SAFE_INTEGER;

/** A message that a client without the SDK sent once, to one of the processes. */
export interface Probe {
  readonly node: string;
  readonly messageId: string;
  readonly sentMs: number;
  /** When it was answered with 200. */
  acknowledgedMs?: number;
}

export interface Probes {
  readonly sent: readonly Probe[];
  stop(): Promise<void>;
}

/** Sends single messages to each process, one after the other, and repeats none. */
export function startProbes(
  run: string,
  targets: readonly { readonly node: string; readonly url: string }[],
  writeKey: string,
  ledger: Ledger,
): Probes {
  const sent: Probe[] = [];
  let isStopped = false;
  const running = targets.map(async ({ node, url }) => {
    const own = ledger.open(`${run}${node}`, USERS);
    while (!isStopped) {
      const n = own.tracked++;
      const probe: Probe = { node, messageId: `${own.name}-${n}`, sentMs: performance.now() };
      sent.push(probe);
      if (await isAccepted(url, writeKey, probe.messageId, `${own.name}-u${n}`, n)) {
        probe.acknowledgedMs = performance.now();
        ledger.acknowledged.add(probe.messageId);
      }
      await pause(EVERY_MS);
    }
    own.state = "killed";
  });
  return {
    sent,
    async stop() {
      isStopped = true;
      await Promise.all(running);
    },
  };
}

async function isAccepted(
  url: string,
  writeKey: string,
  messageId: string,
  userId: string,
  n: number,
): Promise<boolean> {
  try {
    const response = await fetch(`${url}/v1/batch`, {
      method: "POST",
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: { authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}` },
      body: JSON.stringify({
        batch: [{ type: "track", event: "Ordered", userId, messageId, properties: { n } }],
      }),
    });
    await response.text();
    return response.status === 200;
  } catch {
    // Nobody listens, or no answer came: the message counts as not acknowledged.
    return false;
  }
}
