import { setImmediate as turn } from "node:timers/promises";
import type { DestinationType, OutgoingMessage, RoundOutcome } from "../../src/destinations/destination.js";

/** A destination type, `scripted`, that answers as the test says, in a later turn of the event loop, and keeps what it was given. */
export function scriptedDestination() {
  const delivered: OutgoingMessage[] = [];
  const script = {
    delivered,
    /** How the next rounds end. */
    outcome: { kind: "delivered", reason: "200" } as RoundOutcome,
  };
  const type: DestinationType = {
    type: "scripted",
    name: "Scripted",
    mode: "cloud",
    sources: ["server"],
    historical: { accepted: true },
    takesDeletions: "none",
    settingsSchema: { type: "object" },
    async parseSettings(input, previous) {
      const settings = { ...(previous as object | undefined), ...(input as { secret?: unknown }) };
      if (settings.secret === "")
        return {
          ok: false,
          issues: [{ path: "settings.secret", code: "empty", message: "must not be empty" }],
        };
      if (settings.secret === null) delete settings.secret;
      return { ok: true, settings };
    },
    describe(settings) {
      const { secret, ...shown } = settings as { secret?: string };
      return { ...shown, isSecretSet: secret !== undefined };
    },
    async open() {
      await turn();
      return {
        flow: { concurrency: 10, order: "none" },
        async deliver(message, round) {
          delivered.push(message);
          const { outcome } = script;
          await turn();
          round.record({ atMs: 0, url: "scripted:", status: 200, latencyMs: 1 });
          return outcome;
        },
        async close() {},
      };
    },
  };
  return Object.assign(script, { type });
}
