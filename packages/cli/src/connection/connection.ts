import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type AdminClient, adminClient } from "@sluice/admin-client";
import { LOCAL_COLLECTOR_URL } from "@sluice/protocol";
import { type Command, Option } from "commander";
import { newCommand } from "../definition.js";
import { CommandFailure } from "../failures.js";
import type { Io } from "../terminal/io.js";
import { terminalText } from "../terminal/terminal-text.js";
import { isLoopbackUrl, LISTENING_FILE } from "./listening-file.js";

const MAX_BYTES = 65_536;

/**
 * Reads a JSON object that a collector wrote. Returns an empty object if the file does not exist or is incomplete.
 * Throws if another user could have written it: commands send tokens to the address in it.
 */
async function readOwnFile(path: string): Promise<{ readonly [field: string]: unknown }> {
  const text = await readOwnText(path);
  return text === undefined ? {} : objectIn(text);
}

/** Reads a file that a collector wrote. Undefined if it does not exist. Throws as `readOwnFile`. */
async function readOwnText(path: string): Promise<string | undefined> {
  // Without O_NONBLOCK, opening a named pipe would block.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const file = await open(path, flags).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ELOOP") throw distrusted(path, "it is a symbolic link");
    return undefined;
  });
  if (file === undefined) return undefined;
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw distrusted(path, "it is not a regular file");
    const uid = process.getuid?.();
    if (uid !== undefined && stats.uid !== uid) throw distrusted(path, "it belongs to another user");
    if (uid !== undefined && (stats.mode & 0o022) !== 0)
      throw distrusted(path, "other users can write to it");
    if (stats.size > MAX_BYTES) throw distrusted(path, "it is too large");
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}

function objectIn(text: string): { readonly [field: string]: unknown } {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as { [field: string]: unknown }) : {};
  } catch {
    // It is being written.
    return {};
  }
}

function distrusted(path: string, why: string): CommandFailure {
  return new CommandFailure(
    "usage",
    `${path} is not used: ${why}`,
    "Give the collector's address with --url or SLUICE_URL, and a token with --token or SLUICE_TOKEN",
  );
}

/** The default data folder of `sluice dev`. */
export const DEV_DATA_DIR = ".sluice";

export interface ConnectionOptions {
  readonly url?: string;
  readonly token?: string;
  readonly dataDir?: string;
}

export interface WriteKeyOptions extends ConnectionOptions {
  readonly writeKey?: string;
}

/** Adds the options of every command that talks to a collector. */
export function withConnection(command: Command): Command {
  const options: readonly (readonly [flags: string, meaning: string])[] = [
    [
      "--url <url>",
      `the collector's address (SLUICE_ADMIN_URL for the control API, SLUICE_URL; default: the collector that runs on the data folder, otherwise ${LOCAL_COLLECTOR_URL})`,
    ],
    [
      "--token <token>",
      "an admin token (SLUICE_TOKEN or SLUICE_ADMIN_TOKEN; default: the token in the data folder)",
    ],
    [
      "--data-dir <folder>",
      `the data folder of a collector on this machine (SLUICE_DATA_DIR; default: ${DEV_DATA_DIR})`,
    ],
  ];
  for (const [flags, meaning] of options)
    command.addOption(new Option(flags, meaning).helpGroup("Connection:"));
  return command;
}

/** Adds the option of commands that send messages. */
export function withWriteKey(command: Command): Command {
  return command.option(
    "--write-key <key>",
    "a source's write key (SLUICE_WRITE_KEY; default: the key of sluice dev)",
  );
}

/** The address for messages: from the option, the environment, the running collector, or the default. */
export function collectorUrl(options: ConnectionOptions, io: Io): Promise<string> {
  const { SLUICE_URL, SLUICE_ADMIN_URL } = io.env;
  return findUrl(options, [options.url, SLUICE_URL, SLUICE_ADMIN_URL], ({ url }) => url, io);
}

/** The address of the control API, which may be another one. */
export function adminUrl(options: ConnectionOptions, io: Io): Promise<string> {
  const { SLUICE_URL, SLUICE_ADMIN_URL } = io.env;
  return findUrl(
    options,
    [options.url, SLUICE_ADMIN_URL, SLUICE_URL],
    ({ adminUrl: own, url }) => own ?? url,
    io,
  );
}

/** The data folder may have come with a cloned repository, so an address in it is only used if it is on this machine. */
async function findUrl(
  options: ConnectionOptions,
  candidates: readonly (string | undefined)[],
  pick: (listening: { readonly [field: string]: unknown }) => unknown,
  io: Io,
): Promise<string> {
  const given = candidates.find((url) => url !== undefined && url !== "");
  if (given === undefined) {
    const url = pick(await readDevFile(io, options, LISTENING_FILE));
    if (typeof url !== "string") return LOCAL_COLLECTOR_URL;
    if (isLoopbackUrl(url)) return url;
    throw new CommandFailure(
      "usage",
      `Nothing was sent: the address in ${devFile(io, options, LISTENING_FILE)} is not on this machine: ${terminalText(url)}`,
      "If it is the address of your collector, give it with --url or SLUICE_URL; otherwise delete the file",
    );
  }
  if (!/^https?:\/\//.test(given) || !URL.canParse(given))
    throw new CommandFailure("usage", `--url must be an http or https URL, got ${given}`);
  return given.replace(/\/+$/, "");
}

/** A client of the control API. Throws if there is no admin token. */
export async function connect(options: ConnectionOptions, io: Io): Promise<AdminClient> {
  const url = await adminUrl(options, io);
  const token =
    options.token ??
    io.env.SLUICE_TOKEN ??
    io.env.SLUICE_ADMIN_TOKEN ??
    // A token in the data folder is never sent to another machine.
    (isLoopbackUrl(url) ? await storedToken(options, io) : undefined);
  if (typeof token !== "string" || token === "")
    throw new CommandFailure(
      "refused",
      "No admin token found",
      "Give one with --token or SLUICE_TOKEN, or run this in the folder of `npx sluice dev` (or name its data folder with --data-dir)",
    );
  return adminClient({ url, token });
}

/** The token that `sluice dev`, or a collector in production on its first start, left in the data folder. */
async function storedToken(options: ConnectionOptions, io: Io): Promise<unknown> {
  const { adminToken } = await readDevFile(io, options, "dev.json");
  return adminToken ?? (await readOwnText(devFile(io, options, "admin-token")))?.trim();
}

/** The write key: from the option, the environment, or the source that `sluice dev` created. */
export async function findWriteKey(options: WriteKeyOptions, io: Io): Promise<string> {
  const given = options.writeKey ?? io.env.SLUICE_WRITE_KEY;
  if (given !== undefined && given !== "") return given;
  const { sourceId } = await readDevFile(io, options, "dev.json");
  if (typeof sourceId !== "string")
    throw new CommandFailure(
      "refused",
      "No write key found",
      "Give one with --write-key or SLUICE_WRITE_KEY, or run this in the folder of `npx sluice dev`",
    );
  const source = await (await connect(options, io)).sources.get(sourceId);
  const { key, isMasked = false } = source.writeKeys.at(-1) ?? {};
  if (isMasked)
    throw new CommandFailure(
      "refused",
      "No write key found: a read-only token does not see write keys",
      "Give one with --write-key or SLUICE_WRITE_KEY",
    );
  if (key === undefined)
    throw new CommandFailure(
      "refused",
      `The source ${source.name} has no write key`,
      "Add one with `npx sluice sources rotate-key`",
    );
  return key;
}

function devFile(io: Io, options: ConnectionOptions, name: string): string {
  return join(dataFolder(options, io), name);
}

/** The data folder of a collector on this machine. */
export function dataFolder({ dataDir }: ConnectionOptions, io: Io): string {
  const given = [dataDir, io.env.SLUICE_DATA_DIR].find((folder) => folder !== undefined && folder !== "");
  return resolve(io.cwd, given ?? DEV_DATA_DIR);
}

function readDevFile(
  io: Io,
  options: ConnectionOptions,
  name: string,
): Promise<{ readonly [field: string]: unknown }> {
  return readOwnFile(devFile(io, options, name));
}

/** The options that every command with a connection has. */
export interface CommandOptions extends ConnectionOptions {
  readonly json?: boolean;
}

/** A command that talks to a collector. */
export function connectedCommand(name: string, summary: string): Command {
  return withConnection(newCommand(name, summary));
}
