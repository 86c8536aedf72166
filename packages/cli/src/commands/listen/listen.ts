import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createConnection } from "node:net";
import { type AdminClient, allPages } from "@sluice/admin-client";
import type { Command } from "commander";
import { readCount, readInteger, readPort } from "../../arguments.js";
import {
  type CommandOptions,
  type ConnectionOptions,
  connect,
  connectedCommand,
} from "../../connection/connection.js";
import { collect } from "../../connection/find-by-name.js";
import { examples } from "../../definition.js";
import { CommandFailure, listenFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import { untilAborted } from "../../terminal/io.js";
import type { Style } from "../../terminal/style.js";
import { clip, jsonDiff, terminalJson, terminalText } from "../../terminal/terminal-text.js";
import { type ReceivedWebhook, type SignatureState, webhookHandler } from "./webhook-handler.js";

/** Formats webhooks. Unless `isFull`, it only prints the difference from the last webhook of the same type and event. */
function webhookPrinter(isFull: boolean, { style }: Io): (webhook: ReceivedWebhook) => string {
  const latest = new Map<string, unknown>();
  return (webhook) => {
    const { body, isRepeat } = webhook;
    const kind = kindOf(body);
    const before = latest.get(kind);
    latest.set(kind, body);
    const head = headLine(webhook, kind, style);
    // A repeated message is identical, so one line is enough.
    if (isRepeat && !isFull) return `${head}  ${style.dim("repeated")}\n`;
    if (!isFull && before !== undefined) return `${head}\n${diffLines(before, body, style)}`;
    return `${head}\n${terminalJson(body, 2).replace(/^/gm, "  ")}\n`;
  };
}

/** `track Signed Up`. */
function kindOf(body: unknown): string {
  const { type, event, name, groupId } = (typeof body === "object" && body !== null ? body : {}) as {
    [field: string]: unknown;
  };
  return `${String(type ?? "?")} ${String(event ?? name ?? groupId ?? "")}`.trim();
}

function headLine(webhook: ReceivedWebhook, kind: string, style: Style): string {
  const { at, signature, attempt, answered, forwardError, messageId } = webhook;
  const status = String(answered);
  const parts = [
    style.dim(at.slice(11, 23)),
    style.bold(terminalText(kind)),
    signatureText(signature, style),
    attempt === undefined || attempt === "1" ? "" : style.yellow(`attempt ${terminalText(attempt)}`),
    answered < 300 ? style.green(status) : style.red(status),
    forwardError === undefined ? "" : style.red(`not forwarded: ${terminalText(forwardError)}`),
    style.dim(terminalText(messageId ?? "")),
  ];
  return parts.filter(Boolean).join("  ");
}

/** Characters of a value that are shown. */
const VALUE_WIDTH = 120;

function diffLines(before: unknown, after: unknown, style: Style): string {
  const valueText = ({ value }: { readonly value: unknown }) => clip(terminalJson(value), VALUE_WIDTH);
  return jsonDiff(before, after)
    .map(({ path, before: removed, after: added }) => {
      const name = terminalText(path);
      return [
        removed === undefined ? "" : `${style.red(`  - ${name}: ${valueText(removed)}`)}\n`,
        added === undefined ? "" : `${style.green(`  + ${name}: ${valueText(added)}`)}\n`,
      ].join("");
    })
    .join("");
}

function signatureText(signature: SignatureState, style: Style): string {
  switch (signature) {
    case "valid":
      return style.green("signed");
    case "invalid":
      return style.red("WRONG SIGNATURE");
    case "outside_window":
      return style.red("SIGNED MORE THAN 5 MIN OFF");
    case "missing":
      return style.red("NOT SIGNED");
    case "unchecked":
      return style.dim("signature not checked");
    default:
      return signature satisfies never;
  }
}

/** The names of destinations that this command creates start with it; the URL follows. */
const NAME_PREFIX = "sluice listen ";

/** Creates a destination that is connected to all sources. Returns a function that deletes it. */
async function createTemporaryDestination(
  url: string,
  secret: string,
  options: ConnectionOptions,
  io: Io,
): Promise<() => Promise<void>> {
  const client = await connect(options, io);
  await removeStale(client, url, io);
  const sources = await collect((cursor) => client.sources.list({ cursor }));
  const { id } = await client.destinations.create({
    type: "webhooks",
    name: `${NAME_PREFIX}${url}`,
    sourceIds: sources.map((source) => source.id),
    settings: { webhooks: [{ url }], sharedSecret: secret },
  });
  return () => client.destinations.delete(id);
}

/** Deletes destinations that a killed `listen --connect` left behind: those with our URL, and those where no process listens. */
async function removeStale(client: AdminClient, ownUrl: string, io: Io): Promise<void> {
  const temporary: { id: string; url: string }[] = [];
  for await (const { id, name } of allPages((cursor) => client.destinations.list({ cursor })))
    if (name.startsWith(NAME_PREFIX)) temporary.push({ id, url: name.slice(NAME_PREFIX.length) });
  for (const { id, url } of temporary) {
    if (url !== ownUrl && !(await refusesConnections(url))) continue;
    await client.destinations.delete(id);
    io.err(
      `${io.errStyle.dim(terminalText(`removed the destination of an earlier sluice listen on ${url}`))}\n`,
    );
  }
}

const CONNECT_TIMEOUT_MS = 2_000;

/** Whether connections to a URL are refused. A timeout does not count: a firewall may cause it. */
async function refusesConnections(url: string): Promise<boolean> {
  if (!URL.canParse(url)) return false;
  const { hostname, port } = new URL(url);
  const socket = createConnection({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) });
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ECONNREFUSED";
  } finally {
    socket.destroy();
  }
}

// An `import` reads every property of the module, and one of them loads Node.js's own fetch, in every command.
const { createServer } = process.getBuiltinModule("node:http");

interface ListenOptions extends CommandOptions {
  readonly port: string;
  readonly host: string;
  readonly secret?: string;
  readonly forward?: string;
  readonly status: string;
  readonly connect?: boolean;
  readonly full?: boolean;
  readonly count?: string;
}

export function listenCommand(io: Io): Command {
  const command = connectedCommand("listen", "receive webhooks: verify, print and forward them")
    .option("--port <port>", "the port to listen on; 0 takes any free port", "4000")
    .option("--host <address>", "the address to listen on", "127.0.0.1")
    .option("--secret <secret>", "verify signatures with this secret (SLUICE_WEBHOOK_SECRET)")
    .option("--connect", "create a destination with its own secret, and delete it at the end")
    .option("--forward <url>", "forward each webhook unchanged, and return the response to the sender")
    .option("--status <status>", "respond with this status, to see how the collector reacts", "200")
    .option("--full", "print each webhook completely, not only the difference from the last of its kind")
    .option("--count <n>", "stop after n webhooks")
    .action((options: ListenOptions) => listen(options, io));
  return examples(command, [
    ["Receive what the running sluice dev delivers", "sluice listen --connect"],
    [
      "Forward it to the application you are developing",
      "sluice listen --connect --forward http://127.0.0.1:3000/webhooks",
    ],
    ["Watch retries", "sluice listen --connect --status 503"],
  ]);
}

const SECRET_BYTES = 24;

async function listen(options: ListenOptions, io: Io): Promise<void> {
  const { host, forward: forwardUrl, json, full = false } = options;
  const port = readPort(options.port);
  const status = readInteger("--status", options.status, 200, 599);
  const count = readCount(options.count);
  if (forwardUrl !== undefined && !URL.canParse(forwardUrl))
    throw new CommandFailure("usage", `--forward must be a URL, got ${forwardUrl}`);
  const secret =
    options.secret ??
    io.env.SLUICE_WEBHOOK_SECRET ??
    (options.connect ? randomBytes(SECRET_BYTES).toString("base64url") : undefined);

  const finished = new AbortController();
  const print = webhookPrinter(full, io);
  let received = 0;
  const handle = await webhookHandler({ status, secret, forwardUrl, now: io.now }, async (webhook) => {
    await io.out(json ? `${terminalJson(webhook)}\n` : print(webhook));
    received += 1;
    if (received >= count) finished.abort();
  });
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      io.err(`${io.errStyle.red("error:")} ${terminalText(String(error))}\n`);
      if (!response.headersSent) response.writeHead(400).end();
    });
  });
  const url = await startServer(server, host, port);
  try {
    const removeDestination = options.connect
      ? await createTemporaryDestination(url, secret ?? "", options, io)
      : undefined;
    try {
      io.err(`listening on ${url}${forwardUrl === undefined ? "" : `, forwarding to ${forwardUrl}`}\n`);
      await untilAborted(AbortSignal.any([io.interrupted, finished.signal]));
    } finally {
      await removeDestination?.();
    }
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

async function startServer(server: Server, host: string, port: number): Promise<string> {
  server.listen(port, host);
  await once(server, "listening").catch((error: unknown) => {
    throw listenFailure(
      error,
      host,
      port,
      "If your application listens there, receive on another port and use --forward",
    );
  });
  return `http://${host}:${(server.address() as AddressInfo).port}/`;
}
