import { join, resolve } from "node:path";
import { type AdminClient, adminClient } from "@sluice/admin-client";
import { LOCAL_COLLECTOR_URL } from "@sluice/protocol";
import type { Command } from "commander";
import { CommandFailure } from "../failures/exit-codes.js";
import type { Io } from "../terminal/io.js";
import { terminalText } from "../terminal/terminal-text.js";
import { isLoopbackUrl } from "./loopback-url.js";
import { readOwnFile } from "./read-own-file.js";

/** Where `sluice dev` keeps its data when nothing is said. */
export const DEV_DATA_DIR = ".sluice";
/** In the data folder while `sluice dev` runs: where it listens. */
export const LISTENING_FILE = "listening.json";

export interface ConnectionOptions {
  readonly url?: string;
  readonly token?: string;
  readonly dataDir?: string;
}

/** Adds the options that every command has which talks to a collector. */
export function withConnection(command: Command): Command {
  return command
    .option(
      "--url <url>",
      `the collector's address (SLUICE_URL; default: the running sluice dev, else ${LOCAL_COLLECTOR_URL})`,
    )
    .option(
      "--token <token>",
      "an admin token (SLUICE_TOKEN or SLUICE_ADMIN_TOKEN; default: that of sluice dev in the data folder)",
    )
    .option("--data-dir <folder>", "the data folder of sluice dev", DEV_DATA_DIR);
}

/**
 * The collector's address: option, environment, the `sluice dev` that runs on the data folder, the default. The folder may have come
 * with a repository, so what stands in it is only believed of this machine.
 */
export async function collectorUrl(options: ConnectionOptions, io: Io): Promise<string> {
  const given = options.url ?? io.env.SLUICE_URL;
  if (given === undefined || given === "") {
    const { url } = await readDevFile(io, options, LISTENING_FILE);
    if (typeof url !== "string") return LOCAL_COLLECTOR_URL;
    if (isLoopbackUrl(url)) return url;
    throw new CommandFailure(
      "usage",
      `${devFile(io, options, LISTENING_FILE)} names ${terminalText(url)}, which is not on this machine: nothing was sent`,
      "If that is your collector, say so with --url or SLUICE_URL; otherwise delete the file",
    );
  }
  if (!/^https?:\/\//.test(given) || !URL.canParse(given))
    throw new CommandFailure("usage", `--url must be an http or https URL, got ${given}`);
  return given.replace(/\/+$/, "");
}

/** A client of the control API; asks for a token where none can be found. */
export async function connect(options: ConnectionOptions, io: Io): Promise<AdminClient> {
  const url = await collectorUrl(options, io);
  const token =
    options.token ??
    io.env.SLUICE_TOKEN ??
    io.env.SLUICE_ADMIN_TOKEN ??
    // Its token is for the collector beside it.
    (isLoopbackUrl(url) ? (await readDevFile(io, options, "dev.json")).adminToken : undefined);
  if (typeof token !== "string" || token === "")
    throw new CommandFailure(
      "refused",
      "An admin token is needed",
      "Give one with --token or SLUICE_TOKEN, or run this beside the .sluice folder of `npx sluice dev` (or name it with --data-dir)",
    );
  return adminClient({ url, token });
}

/** The write key: option, environment, else that of the source which `sluice dev` made. */
export async function findWriteKey(
  options: ConnectionOptions & { readonly writeKey?: string },
  io: Io,
): Promise<string> {
  const given = options.writeKey ?? io.env.SLUICE_WRITE_KEY;
  if (given !== undefined && given !== "") return given;
  const { sourceId } = await readDevFile(io, options, "dev.json");
  if (typeof sourceId !== "string")
    throw new CommandFailure(
      "refused",
      "A write key is needed",
      "Give one with --write-key or SLUICE_WRITE_KEY, or run this beside the .sluice folder of `npx sluice dev`",
    );
  const source = await (await connect(options, io)).sources.get(sourceId);
  const { key, isMasked = false } = source.writeKeys.at(-1) ?? {};
  if (isMasked)
    throw new CommandFailure(
      "refused",
      "A write key is needed: a token that may only read sees none",
      "Give one with --write-key or SLUICE_WRITE_KEY",
    );
  if (key === undefined) throw new CommandFailure("refused", `The source ${source.name} has no write key`);
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
