import { webhookPayload } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { DestinationType } from "../destination.js";
import { readSettings, type SettingsSchema } from "../read-settings.js";

export interface ConsoleDeps {
  readonly clock: Clock;
  readonly printLine: (line: string) => void;
}

const SCHEMA: SettingsSchema = { type: "object", additionalProperties: false, properties: {} };

/** Prints each message as one line of JSON, for watching messages during development. */
export function consoleType({ clock, printLine }: ConsoleDeps): DestinationType {
  return {
    type: "console",
    name: "Console",
    mode: "cloud",
    sources: ["web", "mobile", "server"],
    historical: { accepted: true },
    takesDeletions: false,
    settingsSchema: SCHEMA,
    parseSettings: (input) => readSettings(input ?? {}, undefined, { schema: SCHEMA }),
    describe: () => ({}),
    async open() {
      return {
        flow: { concurrency: 1, order: "none" },
        async deliver({ message, timestamp }, round) {
          printLine(terminalSafe(JSON.stringify(webhookPayload(message, timestamp))));
          round.record({ atMs: clock.now(), url: "console:", latencyMs: 0 });
          return { kind: "delivered", reason: "printed" };
        },
        async close() {},
      };
    },
  };
}

/** JSON escapes control characters below U+0020; the others and those that turn the direction of text are escaped here. */
export function terminalSafe(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
