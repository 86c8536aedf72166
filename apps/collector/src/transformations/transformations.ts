import type { ConfigStore } from "@sluice/event-log";
import { DOCUMENT_KINDS, mirrorDocuments } from "@sluice/event-log";
import type { Sandboxes, TransformCode, TransformItem, TransformResult } from "@sluice/transformations";
import type { OutgoingMessage } from "../destinations/destination.js";
import type { SecretBox } from "../destinations/secret-box.js";
import {
  type DestinationDocument,
  type SourceDocument,
  type TransformationDocument,
  type TransformationVersionDocument,
  versionId,
} from "../documents/documents.js";
import { sandboxesOfPackage } from "./sandboxes-of-package.js";
import { afterResult, type Transformed, transformInput } from "./transformed.js";

/** The most messages that cross into the sandbox together. */
const MOST_TOGETHER = 100;

interface Waiting {
  readonly item: TransformItem;
  readonly end: (result: TransformResult) => void;
}

interface Lane {
  readonly waiting: Waiting[];
  isRunning: boolean;
}

type RunOne = (code: TransformCode, item: TransformItem) => Promise<TransformResult>;

/** Runs messages together that come in the same turn, or while a batch of the same code runs: no timer gathers them. */
function runInBatches(sandboxes: Pick<Sandboxes, "run">): RunOne {
  const lanes = new Map<string, Lane>();

  const run = async (code: TransformCode, lane: Lane): Promise<void> => {
    while (lane.waiting.length > 0) {
      const batch = lane.waiting.splice(0, MOST_TOGETHER);
      const results = await sandboxes.run(
        code,
        batch.map(({ item }) => item),
      );
      batch.forEach(({ end }, index) => {
        end(results[index] ?? NO_RESULT);
      });
      // What the results let start belongs to the next batch.
      await Promise.resolve();
    }
    lanes.delete(code.key);
  };

  return (code, item) => {
    const lane = lanes.get(code.key) ?? { waiting: [], isRunning: false };
    lanes.set(code.key, lane);
    const { promise, resolve: end } = Promise.withResolvers<TransformResult>();
    lane.waiting.push({ item, end });
    if (!lane.isRunning) {
      lane.isRunning = true;
      queueMicrotask(() => void run(code, lane));
    }
    return promise;
  };
}

const NO_RESULT: TransformResult = {
  kind: "failed",
  code: "crashed",
  message: "the sandbox gave no result",
  logs: [],
};

export interface TransformationsParts {
  readonly config: Pick<ConfigStore, "list" | "watch" | "get">;
  readonly secrets: Pick<SecretBox, "open">;
  /** Called at the first message that needs it. Default: the sandboxes of `@sluice/transformations`. */
  readonly openSandboxes?: () => Promise<Sandboxes>;
}

/** What changes messages on their way to destinations, as the documents say now. */
export interface Transformations {
  /**
   * Sends a message through transformations, one after another. Never rejects. `documents`: as they are to be; default: as they are now.
   */
  apply(
    ids: readonly string[],
    message: OutgoingMessage,
    documents?: readonly (TransformationDocument | undefined)[],
  ): Promise<Transformed>;
  /** A transformation as it is now. */
  documentOf(id: string): TransformationDocument | undefined;
  /** Calls the listener with the id of each that changes. Returns what ends that. */
  onChange(listener: (id: string) => void): () => void;
  close(): Promise<void>;
}

/** What a delivery without transformations has: a message that needs one waits, it is never sent unchanged. */
export const NO_TRANSFORMATIONS: Transformations = {
  apply: async ([id = ""]) => ({ kind: "unavailable", id, message: "transformations are not run here" }),
  documentOf: () => undefined,
  onChange: () => () => {},
  close: async () => {},
};

/** The transformations that a message passes, in order: that of its source, then that of the destination. */
export function chainOf(
  source: Pick<SourceDocument, "transformationId"> | undefined,
  destination: Pick<DestinationDocument, "transformationId">,
): readonly string[] {
  const ids = [source?.transformationId, destination.transformationId];
  return ids[0] === undefined && ids[1] === undefined ? NONE : ids.filter((id) => id !== undefined);
}

const NONE: readonly string[] = [];

/** Follows the transformations. A version that is put in force is used by every message that starts afterwards. */
export async function openTransformations(parts: TransformationsParts): Promise<Transformations> {
  const { config, openSandboxes = sandboxesOfPackage } = parts;
  const listeners = new Set<(id: string) => void>();
  const opened = new OpenedVersions(parts);
  const documents = await mirrorDocuments<TransformationDocument>(
    config,
    DOCUMENT_KINDS.transformation,
    (id) => {
      for (const listener of listeners) listener(id);
    },
  );
  let running: Promise<{ readonly sandboxes: Sandboxes; readonly run: RunOne }> | undefined;
  const runner = () => {
    running ??= openSandboxes().then((sandboxes) => ({ sandboxes, run: runInBatches(sandboxes) }));
    return running;
  };
  return {
    async apply(ids, message, given = ids.map((id) => documents.get(id))) {
      const by: string[] = [];
      let messages: readonly OutgoingMessage[] = [message];
      for (const [place, id] of ids.entries()) {
        // JSON knows no undefined.
        const document = given[place] ?? undefined;
        const loaded = await loadedFor(id, document, opened, runner);
        if ("problem" in loaded) return { kind: "unavailable", id, message: loaded.problem };
        by.push(`${loaded.name}, version ${loaded.current}`);
        const done = await passed(loaded, messages);
        if (done.kind === "untried") return { kind: "unavailable", id, message: done.message };
        if (done.kind === "failed") return { ...done, id, by: by.join("; ") };
        messages = done.messages;
      }
      return messages.length === 0
        ? { kind: "dropped", by: by.join("; ") }
        : { kind: "messages", messages, by: by.join("; ") };
    },
    documentOf: (id) => documents.get(id),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      documents.close();
      await (await running?.catch(() => undefined))?.sandboxes.close();
    },
  };
}

interface Loaded {
  readonly name: string;
  readonly current: number;
  readonly code: TransformCode;
  readonly run: RunOne;
}

/** The version in force, ready to run, or why it is not. */
async function loadedFor(
  id: string,
  document: TransformationDocument | undefined,
  opened: OpenedVersions,
  runner: () => Promise<{ readonly run: RunOne }>,
): Promise<Loaded | { readonly problem: string }> {
  if (document === undefined) return { problem: `there is no transformation ${id}` };
  const { name, current } = document;
  try {
    const [code, { run }] = await Promise.all([opened.get(id, document), runner()]);
    return { name, current, code, run };
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) };
  }
}

type Passed =
  | { readonly kind: "messages"; readonly messages: readonly OutgoingMessage[] }
  | { readonly kind: "failed"; readonly where: string; readonly message: string }
  | { readonly kind: "untried"; readonly message: string };

/** Messages after one transformation. */
async function passed({ code, run }: Loaded, messages: readonly OutgoingMessage[]): Promise<Passed> {
  const results = await Promise.all(messages.map((message) => run(code, transformInput(message))));
  const failed = results.find((result) => result.kind === "failed");
  if (failed?.code === "closed") return { kind: "untried", message: failed.message };
  if (failed !== undefined) return { kind: "failed", where: whereOf(failed), message: failed.message };
  const after = messages.map((message, index) => afterResult(message, results[index]));
  return { kind: "messages", messages: after.flat() };
}

/** Where and how a function failed, without the words of its error: those may repeat the message's data. */
function whereOf({ code, line, message }: Extract<TransformResult, { kind: "failed" }>): string {
  const type = /^((?:[A-Z][A-Za-z]{0,30})?Error)\b/.exec(message)?.[1];
  const what = code === "exception" ? (type ?? code) : code;
  return line === undefined ? what : `line ${line}, ${what}`;
}

/** Versions in force with their secrets, read once for each state of a transformation. */
class OpenedVersions {
  readonly #parts: Pick<TransformationsParts, "config" | "secrets">;
  readonly #opened = new WeakMap<TransformationDocument, Promise<TransformCode>>();

  constructor(parts: Pick<TransformationsParts, "config" | "secrets">) {
    this.#parts = parts;
  }

  /** Rejects if it cannot be read; the next call tries again. */
  get(id: string, document: TransformationDocument): Promise<TransformCode> {
    const kept = this.#opened.get(document);
    if (kept !== undefined) return kept;
    const code = this.#open(id, document);
    this.#opened.set(document, code);
    code.catch(() => this.#opened.delete(document));
    return code;
  }

  async #open(id: string, document: TransformationDocument): Promise<TransformCode> {
    const { config, secrets: box } = this.#parts;
    const { current, secrets, secretsRevision } = document;
    const kind = DOCUMENT_KINDS.transformationVersion;
    const version = versionId(id, current);
    const key = `${version}#${secretsRevision}`;
    const found = await config.get<TransformationVersionDocument>(kind, version);
    if (found === undefined) throw new Error(`the version ${version} is not stored`);
    const { code, language } = found.value;
    const opened = Object.entries(secrets).map(([name, sealed]) => [name, box.open(sealed)] as const);
    return { key, code, language, secrets: Object.fromEntries(opened) };
  }
}
