import { type DefinedDestination, defineDestination } from "@sluice/destination";

/** Prints each message as one line of JSON, for watching messages during development. */
export function consoleDestination(printLine: (line: string) => void): DefinedDestination {
  return defineDestination({
    type: "console",
    name: "Console",
    settings: { type: "object", additionalProperties: false, properties: {} },
    open: () => ({
      async deliver({ payload }) {
        printLine(terminalSafe(JSON.stringify(payload)));
        return { kind: "delivered", reason: "printed" };
      },
    }),
  });
}

/** JSON escapes control characters below U+0020; the others and those that turn the direction of text are escaped here. */
export function terminalSafe(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
