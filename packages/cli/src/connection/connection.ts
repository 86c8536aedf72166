import { join, resolve } from "node:path";
import { type AdminClient, adminClient } from "@sluice/admin-client";
import { LOCAL_COLLECTOR_URL } from "@sluice/protocol";
import type { Command } from "commander";
import { CommandFailure } from "../failures/exit-codes.js";
import type { Io } from "../terminal/io.js";
import { terminalText } from "../terminal/terminal-text.js";
import { isLoopbackUrl } from "./loopback-url.js";
import { readOwnFile } from "./read-own-file.js";

/** The default data folder of `sluice dev`. */
export const DEV_DATA_DIR = ".sluice";
/** The file in the data folder that holds the address while `sluice dev` runs. */
export const LISTENING_FILE = "listening.json";

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
  return command
    .option(
      "--url <url>",
      `the collector's address (SLUICE_URL; default: the running sluice dev, otherwise ${LOCAL_COLLECTOR_URL})`,
    )
    .option(
      "--token <token>",
      "an admin token (SLUICE_TOKEN or SLUICE_ADMIN_TOKEN; default: the token of sluice dev in the data folder)",
    )
    .option("--data-dir <folder>", "the data folder of sluice dev", DEV_DATA_DIR);
}

/** Adds the option of commands that send messages. */
export function withWriteKey(command: Command): Command {
  return command.option(
    "--write-key <key>",
    "a source's write key (SLUICE_WRITE_KEY; default: the key of sluice dev)",
  );
}

/**
 * The collector's address: from the option, the environment, the running `sluice dev`, or the default. The data folder may have
 * come with a cloned repository, so an address in it is only used if it is on this machine.
 */
export async function collectorUrl(options: ConnectionOptions, io: Io): Promise<string> {
  const given = options.url ?? io.env.SLUICE_URL;
  if (given === undefined || given === "") {
    const { url } = await readDevFile(io, options, LISTENING_FILE);
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
  const url = await collectorUrl(options, io);
  const token =
    options.token ??
    io.env.SLUICE_TOKEN ??
    io.env.SLUICE_ADMIN_TOKEN ??
    // The token of `sluice dev` is never sent to another machine.
    (isLoopbackUrl(url) ? (await readDevFile(io, options, "dev.json")).adminToken : undefined);
  if (typeof token !== "string" || token === "")
    throw new CommandFailure(
      "refused",
      "No admin token found",
      "Give one with --token or SLUICE_TOKEN, or run this in the folder of `npx sluice dev` (or name its data folder with --data-dir)",
    );
  return adminClient({ url, token });
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

function devFile(io: Io, { dataDir = DEV_DATA_DIR }: ConnectionOptions, name: string): string {
  return join(resolve(io.cwd, dataDir), name);
}

function readDevFile(
  io: Io,
  options: ConnectionOptions,
  name: string,
): Promise<{ readonly [field: string]: unknown }> {
  return readOwnFile(devFile(io, options, name));
}
