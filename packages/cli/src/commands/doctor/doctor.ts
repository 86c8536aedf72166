import { access, constants, stat, statfs } from "node:fs/promises";
import { createConnection } from "node:net";
import { join, resolve } from "node:path";
import { type AdminClient, AdminError, allPages } from "@sluice/admin-client";
import type { AudienceEngineView } from "@sluice/protocol";
import type { Command } from "commander";
import manifest from "../../../package.json" with { type: "json" };
import {
  type ConnectionOptions,
  collectorUrl,
  connect,
  DEV_DATA_DIR,
  findWriteKey,
  withConnection,
} from "../../connection/connection.js";
import { type DestinationHealth, healthWord, readHealth } from "../../connection/destination-health.js";
import { examples, newCommand } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { shellWord } from "../../terminal/shell-word.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";

interface DoctorOptions extends ConnectionOptions {
  readonly writeKey?: string;
  readonly json?: boolean;
}

/** What one look found. */
export interface Check {
  readonly name: string;
  readonly result: "ok" | "warning" | "problem" | "skipped";
  readonly message: string;
  /** What can be done about it. */
  readonly hint?: string;
}

export function doctorCommand(io: Io): Command {
  const command = withConnection(
    newCommand(
      "doctor",
      "look for what is wrong: Node.js, disk, address, token, write key, clock, audiences, destinations",
    ),
  )
    .option("--write-key <key>", "a source's write key (SLUICE_WRITE_KEY; default: that of sluice dev)")
    .action((options: DoctorOptions) => doctor(options, io));
  return examples(command, [
    ["The sluice dev on this machine", "sluice doctor"],
    ["A collector elsewhere", "sluice doctor --url https://events.example.com --token … --write-key …"],
  ]);
}

async function doctor(options: DoctorOptions, io: Io): Promise<void> {
  const checks: Check[] = [checkNode(process.versions.node)];
  checks.push(await checkDisk(resolve(io.cwd, options.dataDir ?? DEV_DATA_DIR)));
  const url = await collectorUrl(options, io);
  const reach = await checkAddress(url);
  checks.push(reach);
  if (reach.result === "ok") {
    checks.push(...(await checkCollector(options, url, io)));
    checks.push(await checkWriteKey(options, url, io));
  }
  const problems = checks.filter(({ result }) => result === "problem").length;
  if (options.json) await io.out(`${terminalJson({ url, checks })}\n`);
  else await io.out(checks.map((check) => line(check, io)).join(""));
  if (problems > 0) throw new CommandFailure("partly", `${plural(problems, "problem", "problems")} found`);
}

const MARKS = { ok: "✓", warning: "!", problem: "✗", skipped: "–" } as const;

function line({ name, result, message, hint }: Check, { style }: Io): string {
  const paint = { ok: style.green, warning: style.yellow, problem: style.red, skipped: style.dim }[result];
  const advice = hint === undefined ? "" : `    ${style.dim(terminalText(hint))}\n`;
  return `${paint(MARKS[result])} ${name.padEnd(12)} ${terminalText(message)}\n${advice}`;
}

const OLDEST_NODE = [22, 13] as const;

export function checkNode(version: string): Check {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isOld = major < OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor < OLDEST_NODE[1]);
  return isOld
    ? {
        name: "Node.js",
        result: "problem",
        message: `${version} is too old for the collector`,
        hint: `Install Node.js ${OLDEST_NODE.join(".")} or newer`,
      }
    : { name: "Node.js", result: "ok", message: version };
}

/** Below this the log can be filled within minutes. */
const LITTLE_SPACE_BYTES = 1_073_741_824;
const NO_SPACE_BYTES = 104_857_600;

async function checkDisk(folder: string): Promise<Check> {
  const name = "disk";
  try {
    await access(folder, constants.W_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT")
      return { name, result: "skipped", message: `there is no ${folder} on this machine` };
    return {
      name,
      result: "problem",
      message: `${folder} may not be written`,
      hint: "Check its owner and mode",
    };
  }
  const { bavail, bsize } = await statfs(folder);
  const freeCheck = checkFreeSpace(bavail * bsize, folder);
  if (freeCheck.result !== "ok") return freeCheck;
  const mode = await stat(join(folder, "dev.json")).then(
    (file) => file.mode & 0o077,
    () => 0,
  );
  if (mode !== 0 && process.platform !== "win32")
    return {
      name,
      result: "warning",
      message: "dev.json can be read by others",
      hint: `chmod 600 ${join(folder, "dev.json")}`,
    };
  return freeCheck;
}

export function checkFreeSpace(freeBytes: number, folder: string): Check {
  const free = `${(freeBytes / 1_073_741_824).toFixed(1)} GB free at ${folder}`;
  if (freeBytes < NO_SPACE_BYTES)
    return {
      name: "disk",
      result: "problem",
      message: free,
      hint: "Messages are refused (503) when it is full",
    };
  if (freeBytes < LITTLE_SPACE_BYTES) return { name: "disk", result: "warning", message: free };
  return { name: "disk", result: "ok", message: free };
}

async function checkAddress(url: string): Promise<Check> {
  const name = "address";
  const { hostname, port, protocol } = new URL(url);
  const portNumber = Number(port === "" ? (protocol === "https:" ? 443 : 80) : port);
  const refused = await tryConnect(hostname.replace(/^\[|\]$/g, ""), portNumber);
  if (refused !== undefined)
    return {
      name,
      result: "problem",
      message: `${url} cannot be reached: ${refused}`,
      hint:
        refused === "ECONNREFUSED"
          ? "Nothing listens there. `npx sluice dev` starts a collector; --url names another address"
          : "Check the name, the network and firewalls between",
    };
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000), redirect: "manual" });
    if (response.ok) return { name, result: "ok", message: `${url} is ready` };
    return {
      name,
      result: "problem",
      message: `${url} answers ${response.status} at /readyz`,
      hint:
        response.status === 503
          ? "The collector runs but takes nothing: see its log"
          : "Is it a Sluice collector?",
    };
  } catch (error) {
    return { name, result: "problem", message: `${url} does not speak HTTP: ${String(error)}` };
  }
}

function tryConnect(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port, timeout: 5_000 });
    const end = (reason: string | undefined): void => {
      socket.destroy();
      resolve(reason);
    };
    socket.once("connect", () => end(undefined));
    socket.once("timeout", () => end("ETIMEDOUT"));
    socket.once("error", (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}

/** A clock that is off by more makes the collector correct every message's time. */
const MOST_SKEW_MS = 5_000;

async function checkCollector(options: DoctorOptions, url: string, io: Io): Promise<Check[]> {
  let client: AdminClient;
  try {
    client = await connect({ ...options, url }, io);
  } catch (error) {
    if (error instanceof CommandFailure)
      return [
        {
          name: "token",
          result: "skipped",
          message: error.message,
          ...(error.hint === undefined ? {} : { hint: error.hint }),
        },
      ];
    throw error;
  }
  try {
    const sentMs = io.now();
    const info = await client.info();
    const receivedMs = io.now();
    return [
      { name: "token", result: "ok", message: `${info.token.name}, ${info.token.access} access` },
      checkVersions(info.version, manifest.version),
      checkClock(Date.parse(info.now), sentMs, receivedMs),
      info.storage.kind === "ready"
        ? { name: "storage", result: "ok", message: "ready" }
        : {
            name: "storage",
            result: "problem",
            message: `since ${info.storage.since}: ${info.storage.reason}`,
          },
      checkAudiences(await client.audiences.engine()),
      ...(await checkDestinations(client)),
    ];
  } catch (error) {
    if (error instanceof AdminError && error.status === 401)
      return [
        {
          name: "token",
          result: "problem",
          message: "the collector does not know this admin token",
          hint: "`npx sluice dev` prints its own; in production it is SLUICE_ADMIN_TOKEN, or the admin-token file of the data folder",
        },
      ];
    return [
      { name: "token", result: "problem", message: error instanceof Error ? error.message : String(error) },
    ];
  }
}

export function checkVersions(collector: string, cli: string): Check {
  const isSame = collector.split(".")[0] === cli.split(".")[0];
  const message = `collector ${collector}, command line ${cli}`;
  return isSame
    ? { name: "version", result: "ok", message }
    : { name: "version", result: "warning", message, hint: "Use the same major version of both" };
}

/** The collector's clock against ours, which may be off by half the round trip. */
export function checkClock(collectorMs: number, sentMs: number, receivedMs: number): Check {
  const skewMs = collectorMs - (sentMs + receivedMs) / 2;
  const isOff = Math.abs(skewMs) > MOST_SKEW_MS + (receivedMs - sentMs) / 2;
  const message = `the collector's clock is ${Math.abs(Math.round(skewMs))} ms ${skewMs < 0 ? "behind" : "ahead of"} this one`;
  return isOff
    ? {
        name: "clock",
        result: "problem",
        message,
        hint: "Set both by NTP: message times are corrected by the difference",
      }
    : { name: "clock", result: "ok", message };
}

/** Messages that the audiences leave out, because evaluating them failed again and again. */
export function checkAudiences({ behind, setAside }: AudienceEngineView): Check {
  const name = "audiences";
  const [first] = setAside;
  if (first === undefined) {
    const message =
      behind === 0 ? "every message is counted" : `${plural(behind, "message", "messages")} behind`;
    return { name, result: "ok", message };
  }
  const { messageId, sourceId } = first;
  const messages = setAside.reduce((sum, one) => sum + one.messages, 0);
  const which = messageId === undefined ? "a request that cannot be read" : `message ${messageId}`;
  const hint = "Destinations still get them. The collector's log has the error: report it with the message";
  return {
    name,
    result: "problem",
    message: `${plural(messages, "message is", "messages are")} not counted, because evaluating failed; the first: ${which} of source ${sourceId}`,
    hint:
      messageId === undefined ? hint : `${hint}. To see it: npx sluice messages get ${shellWord(messageId)}`,
  };
}

/** One line a destination: what is wrong at one says nothing about the others. */
async function checkDestinations(client: AdminClient): Promise<Check[]> {
  const checks: Check[] = [];
  for await (const destination of allPages((cursor) => client.destinations.list({ cursor })))
    checks.push(checkDestination(destination.name, await readHealth(client, destination)));
  if (checks.length > 0) return checks;
  return [
    {
      name: "destination",
      result: "skipped",
      message: "there is none: messages are stored and go nowhere",
      hint: "Make one: npx sluice destinations create --webhook URL",
    },
  ];
}

export function checkDestination(destination: string, health: DestinationHealth): Check {
  const { state, behind, retries, nextAttemptAt, lastError, disabledUrls } = health;
  const waiting = [
    behind === 0 ? "" : `${plural(behind, "message", "messages")} behind`,
    retries === 0 ? "" : `${plural(retries, "retry", "retries")} waiting`,
    nextAttemptAt === undefined ? "" : `next attempt ${nextAttemptAt}`,
  ].filter(Boolean);
  const message = [
    `${destination}: ${healthWord(state)}`,
    waiting.length === 0 ? "nothing waits" : waiting.join(", "),
    ...disabledUrls.map((url) => `${url} is called no more`),
    ...(lastError === undefined ? [] : [`last error: ${lastError}`]),
  ].join("; ");
  const name = "destination";
  switch (state) {
    case "delivering":
      return { name, result: "ok", message };
    case "disabled":
      return { name, result: "skipped", message };
    case "url_disabled":
    case "partly_disabled":
      return {
        name,
        result: "problem",
        message,
        hint: `A URL answered 410. To have it called again: npx sluice destinations enable ${shellWord(destination)}`,
      };
    case "backing_off":
    case "failing":
      return {
        name,
        result: "problem",
        message,
        hint: `See one attempt: npx sluice destinations test ${shellWord(destination)}`,
      };
    default:
      return state satisfies never;
  }
}

async function checkWriteKey(options: DoctorOptions, url: string, io: Io): Promise<Check> {
  const name = "write key";
  let writeKey: string;
  try {
    writeKey = await findWriteKey({ ...options, url }, io);
  } catch (error) {
    return { name, result: "skipped", message: error instanceof Error ? error.message : String(error) };
  }
  const response = await fetch(`${url}/v1/batch`, {
    method: "POST",
    headers: {
      authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`,
      "content-type": "application/json",
    },
    body: '{"batch":[]}',
    signal: AbortSignal.timeout(5_000),
  }).catch((error: unknown) => String(error));
  if (typeof response === "string") return { name, result: "problem", message: response };
  const body = (await response.json().catch(() => ({}))) as { message?: string; code?: string };
  // An empty batch may be refused for what it is; then the key was known.
  if (response.ok || response.status === 400)
    return { name, result: "ok", message: "known to the collector" };
  return {
    name,
    result: "problem",
    message: body.message ?? `the collector answered ${response.status}`,
    ...(response.status === 401 ? { hint: "`npx sluice sources list` shows the keys there are" } : {}),
  };
}
