import { join } from "node:path";
import { isPlainObject, KB, webhookPayload } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { DestinationType, SettingsIssue } from "../destination.js";
import { sharedFiles } from "./shared-files.js";

export interface FileSettings {
  /** A plain file name in the exports folder. */
  readonly fileName: string;
  readonly maxBytes: number;
  readonly maxFiles: number;
}

export const FILE_DEFAULTS = {
  fileName: "messages.jsonl",
  /** A file that would grow beyond this is put aside and a new one begun. */
  maxBytes: 64 * KB * KB,
  /** Files put aside that are kept; the oldest goes first. */
  maxFiles: 10,
} as const;

/**
 * No folder and no hidden file: an administrator of the collector is not an administrator of the machine. No number at the end: `x.jsonl.1`
 * is the name of a rotated `x.jsonl`, which may be another destination's.
 */
const FILE_NAME = /^(?!.*\.[0-9]+$)[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$/;

const SCHEMA: object = {
  type: "object",
  additionalProperties: false,
  properties: {
    fileName: {
      title: "File name",
      description: "In the collector's exports folder",
      type: "string",
      pattern: FILE_NAME.source,
      default: FILE_DEFAULTS.fileName,
    },
    maxBytes: {
      title: "Rotate at (bytes)",
      type: "integer",
      minimum: 64 * KB,
      default: FILE_DEFAULTS.maxBytes,
    },
    maxFiles: {
      title: "Rotated files kept",
      type: "integer",
      minimum: 1,
      maximum: 1_000,
      default: FILE_DEFAULTS.maxFiles,
    },
  },
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
    async parseSettings(input, previous) {
      const issues: SettingsIssue[] = [];
      const given = input ?? {};
      if (!isPlainObject(given)) {
        return {
          ok: false,
          issues: [{ path: "settings", code: "not_an_object", message: "The settings must be an object" }],
        };
      }
      const kept: FileSettings = { ...FILE_DEFAULTS, ...(previous as FileSettings | undefined) };
      const take = <K extends keyof FileSettings>(
        key: K,
        isValid: (value: unknown) => boolean,
        rule: string,
      ): FileSettings[K] => {
        const value = given[key];
        if (value === undefined) return kept[key];
        if (value === null) return FILE_DEFAULTS[key] as FileSettings[K];
        if (isValid(value)) return value as FileSettings[K];
        issues.push({ path: `settings.${key}`, code: "invalid_value", message: `${key} must be ${rule}` });
        return kept[key];
      };
      for (const key of Object.keys(given)) {
        if (!Object.hasOwn(FILE_DEFAULTS, key)) {
          issues.push({
            path: `settings.${key}`,
            code: "unknown_setting",
            message: `There is no setting ${key}`,
          });
        }
      }
      const settings: FileSettings = {
        fileName: take(
          "fileName",
          (value) => typeof value === "string" && FILE_NAME.test(value),
          "a plain file name (letters, digits, dot, dash, underscore), without folders and without a number at its end such as `.1`: rotated files are named so",
        ),
        maxBytes: take(
          "maxBytes",
          (value) => Number.isSafeInteger(value) && Number(value) >= 64 * KB,
          "an integer of at least 65536",
        ),
        maxFiles: take(
          "maxFiles",
          (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 1_000,
          "an integer from 1 to 1000",
        ),
      };
      return issues.length === 0 ? { ok: true, settings } : { ok: false, issues };
    },
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
