import { chmod, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ConfigStore, DOCUMENT_KINDS } from "@sluice/event-log";
import { formatTime, type Region } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { SourceDocument } from "../documents/documents.js";
import { newId, newWriteKey } from "../documents/new-id.js";
import type { Tokens } from "../tokens/tokens.js";

/** What a developer needs to begin; the same at every start on one data folder. */
export interface FirstRun {
  readonly sourceId: string;
  readonly writeKey: string;
  readonly adminToken: string;
}

export interface FirstRunParts {
  readonly config: ConfigStore;
  readonly tokens: Tokens;
  readonly clock: Clock;
  /** Undefined where no region is configured. */
  readonly region: Region | undefined;
  /** Absent: nothing is kept over a restart. */
  readonly directory?: string;
}

const FILE = "dev.json";

/**
 * Makes a first source and an admin token, or finds those of an earlier start. The token stands readable in
 * `dev.json` of the data folder (mode 0600): for development only, production keeps hashes alone.
 */
export async function firstRun({
  config,
  tokens,
  clock,
  region,
  directory,
}: FirstRunParts): Promise<FirstRun> {
  const file = directory === undefined ? undefined : join(directory, FILE);
  const kept = file === undefined ? {} : await readKept(file);
  const adminToken =
    kept.adminToken !== undefined && tokens.verify(kept.adminToken) !== undefined
      ? kept.adminToken
      : (await tokens.create("sluice dev", "full")).token;
  const source = (await usableSource(config, kept.sourceId)) ?? (await makeSource(config, clock, region));
  if (file !== undefined && (kept.adminToken !== adminToken || kept.sourceId !== source.sourceId)) {
    await writeOwnerOnly(file, `${JSON.stringify({ adminToken, sourceId: source.sourceId }, null, 2)}\n`);
  }
  return { ...source, adminToken };
}

/**
 * In production, a first admin token where neither the operator nor an earlier start made one: written once to
 * `admin-token` in the data folder (mode 0600) and stored as a hash. Resolves with the file's path when it was made now.
 */
export async function firstToken(tokens: Tokens, directory: string): Promise<string | undefined> {
  if (tokens.list().length > 0) return undefined;
  const { token } = await tokens.create("made at first start", "full");
  const file = join(directory, "admin-token");
  await writeOwnerOnly(file, `${token}\n`);
  return file;
}

interface Kept {
  readonly adminToken?: string;
  readonly sourceId?: string;
}

async function readKept(file: string): Promise<Kept> {
  try {
    const { adminToken, sourceId } = JSON.parse(await readFile(file, "utf8"));
    return {
      ...(typeof adminToken === "string" ? { adminToken } : {}),
      ...(typeof sourceId === "string" ? { sourceId } : {}),
    };
  } catch (error) {
    // No file: a first start. A file that does not parse was written by nobody we know: it is made anew.
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof SyntaxError) return {};
    throw error;
  }
}

/** Whole or not at all, and readable by its owner alone from the first byte. */
async function writeOwnerOnly(file: string, text: string): Promise<void> {
  const draft = `${file}.new`;
  await writeFile(draft, text, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, file);
}

type UsableSource = Pick<FirstRun, "sourceId" | "writeKey">;

async function usableSource(
  config: ConfigStore,
  sourceId: string | undefined,
): Promise<UsableSource | undefined> {
  if (sourceId === undefined) return undefined;
  const key = (await config.get<SourceDocument>(DOCUMENT_KINDS.source, sourceId))?.value.writeKeys.at(
    -1,
  )?.key;
  return key === undefined ? undefined : { sourceId, writeKey: key };
}

async function makeSource(
  config: ConfigStore,
  clock: Clock,
  region: Region | undefined,
): Promise<UsableSource> {
  const createdAt = formatTime(clock.now());
  const writeKey = newWriteKey(region);
  const document: SourceDocument = {
    name: "My app",
    kind: "server",
    createdAt,
    writeKeys: [{ key: writeKey, createdAt }],
    blockedEvents: [],
    ...(region === undefined ? {} : { region }),
  };
  const { id } = await config.put(DOCUMENT_KINDS.source, newId("src"), document, 0);
  return { sourceId: id, writeKey };
}
