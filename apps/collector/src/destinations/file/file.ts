import { join } from "node:path";
import { KB, webhookPayload } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { DestinationType } from "../destination.js";
import { readSettings, type SettingsSchema } from "../read-settings.js";
import { sharedFiles } from "./shared-files.js";

export interface FileSettings {
  /** A plain file name in the exports folder. */
  readonly fileName: string;
  /** A file that would grow larger than this is rotated. */
  readonly maxBytes: number;
  /** Rotated files to keep; the oldest is deleted first. */
  readonly maxFiles: number;
}

/**
 * No folder and no hidden file, because a collector administrator is not a machine administrator. No number at the end,
 * because `x.jsonl.1` is the name of a rotated `x.jsonl`, which may be another destination's.
 */
const FILE_NAME = /^(?!.*\.[0-9]+$)[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/;

const SCHEMA: SettingsSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    fileName: {
      title: "File name",
      description: "In the collector's exports folder",
      type: "string",
      pattern: FILE_NAME.source,
      default: "messages.jsonl",
    },
    maxBytes: {
      title: "Rotate at (bytes)",
      type: "integer",
      minimum: 64 * KB,
      default: 64 * KB * KB,
    },
    maxFiles: {
      title: "Rotated files kept",
      type: "integer",
      minimum: 1,
      maximum: 1_000,
      default: 10,
    },
  },
};

const RULES = {
  fileName:
    "a plain file name (letters, digits, dot, dash, underscore), without folders and without a number at its end such as `.1`: rotated files are named so",
};

/** Appends each message as a line of JSON to a file of the exports folder, synced before it counts as delivered. */
export function fileType(deps: { readonly clock: Clock; readonly folder: string }): DestinationType {
  const files = sharedFiles();
  return {
    type: "file",
    name: "File",
    mode: "cloud",
    sources: ["web", "mobile", "server"],
    historical: { accepted: true },
    takesDeletions: false,
    settingsSchema: SCHEMA,
    parseSettings: (input, previous) =>
      readSettings(input ?? {}, previous as FileSettings | undefined, { schema: SCHEMA, rules: RULES }),
    describe: (settings) => ({ ...(settings as FileSettings) }),
    async open(kept) {
      const settings = kept as FileSettings;
      const path = join(deps.folder, settings.fileName);
      const file = await files.open({ path, maxBytes: settings.maxBytes, maxFiles: settings.maxFiles });
      return {
        // Lines that are written at one moment share one sync.
        flow: { concurrency: 500, order: "none" },
        async deliver({ message, timestamp }, round) {
          const atMs = deps.clock.now();
          const startedMs = deps.clock.monotonic();
          const line = `${JSON.stringify(webhookPayload(message, timestamp))}\n`;
          const failure = await file.append(line).then(
            () => undefined,
            (error: NodeJS.ErrnoException) => error.code ?? error.message,
          );
          const error =
            failure === undefined
              ? {}
              : { error: { code: "write_failed", message: `The file cannot be written (${failure})` } };
          round.record({
            atMs,
            url: `file:${settings.fileName}`,
            latencyMs: deps.clock.monotonic() - startedMs,
            ...error,
          });
          return failure === undefined
            ? { kind: "delivered", reason: "written" }
            : {
                kind: "retry",
                reason: `write_failed: ${failure}`,
                doneUrls: [],
                failedUrls: [],
                alive: false,
              };
        },
        close: () => file.close(),
      };
    },
  };
}
