import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ConfigStore, DOCUMENT_KINDS, type Versioned } from "@sluice/event-log";
import type { Region } from "@sluice/protocol";
import type { Clock } from "@sluice/resilience";
import type { SourceDocument } from "../documents/documents.js";
import { writeDurably } from "../process/write-durably.js";
import type { Tokens } from "../tokens/tokens.js";
import { createSource } from "./sources/change-source.js";

/** What a developer needs to start. It stays the same for one data folder. */
export interface FirstRun {
  readonly sourceId: string;
  readonly writeKey: string;
  readonly adminToken: string;
}

export interface FirstRunParts {
  readonly config: ConfigStore;
  readonly tokens: Tokens;
  readonly clock: Clock;
  /** Undefined if no region is configured. */
  readonly region: Region | undefined;
  /** The data folder. */
  readonly directory: string;
}

const FILE = "dev.json";

/**
 * Creates a first source and an admin token, or finds those of an earlier start. The token is stored as text in `dev.json`
 * of the data folder (mode 0600). For development only: production stores hashes.
 */
export async function firstRun({
  config,
  tokens,
  clock,
  region,
  directory,
}: FirstRunParts): Promise<FirstRun> {
  const file = join(directory, FILE);
  const kept = await readKept(file);
  const adminToken =
    kept.adminToken !== undefined && tokens.verify(kept.adminToken) !== undefined
      ? kept.adminToken
      : (await tokens.create("sluice dev", "full")).token;
  const source =
    (await usableSource(config, kept.sourceId)) ??
    withKey(await createSource(config, { name: "My app" }, region, clock.now()));
  if (kept.adminToken !== adminToken || kept.sourceId !== source.sourceId)
    await writeDurably(file, `${JSON.stringify({ adminToken, sourceId: source.sourceId }, null, 2)}\n`);
  return { ...source, adminToken };
}

/**
 * In production, creates a first admin token if there is none: it is written to `admin-token` in the data folder (mode
 * 0600), and stored as a hash. Resolves with the file's path if it was created now.
 */
export async function firstToken(tokens: Tokens, directory: string): Promise<string | undefined> {
  if (tokens.list().length > 0) return undefined;
  const { token } = await tokens.create("made at first start", "full");
  const file = join(directory, "admin-token");
  await writeDurably(file, `${token}\n`);
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
    // No file: this is the first start. A file that cannot be parsed is replaced.
    if ((error as NodeJS.ErrnoException).code === "ENOENT" || error instanceof SyntaxError) return {};
    throw error;
  }
}

type UsableSource = Pick<FirstRun, "sourceId" | "writeKey">;

async function usableSource(
  config: ConfigStore,
  sourceId: string | undefined,
): Promise<UsableSource | undefined> {
  if (sourceId === undefined) return undefined;
  const source = await config.get<SourceDocument>(DOCUMENT_KINDS.source, sourceId);
  return source === undefined || source.value.writeKeys.length === 0 ? undefined : withKey(source);
}

/** The source with its newest write key. */
function withKey({ id, value }: Versioned<SourceDocument>): UsableSource {
  return { sourceId: id, writeKey: value.writeKeys.at(-1)?.key ?? "" };
}
