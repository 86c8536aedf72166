import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, createConnection } from "node:net";
import { type AdminClient, allPages } from "@sluice/admin-client";
import { ATTEMPT_HEADER, LIMITS, MESSAGE_ID_HEADER, SIGNATURE_HEADER } from "@sluice/protocol";
import type { Command } from "commander";
import { readInteger, readPort } from "../../arguments/numbers.js";
import { type ConnectionOptions, connect, withConnection } from "../../connection/connection.js";
import { examples, newCommand } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { jsonDiff } from "../../terminal/json-diff.js";
import type { Style } from "../../terminal/style.js";
import { clip, terminalJson, terminalText } from "../../terminal/terminal-text.js";

interface ListenOptions extends ConnectionOptions {
  readonly port: string;
  readonly host: string;
  readonly secret?: string;
  readonly forward?: string;
  readonly status: string;
  readonly connect?: boolean;
  readonly full?: boolean;
  readonly count?: string;
  readonly json?: boolean;
}

/** `outside_window`: signed more than five minutes ago or ahead. `unchecked`: there is no secret to check with. */
type SignatureState = "valid" | "invalid" | "outside_window" | "missing" | "unchecked";

/** A webhook as it came, and what was made of it. */
interface Received {
  readonly at: string;
  readonly messageId: string | undefined;
  readonly attempt: string | undefined;
  readonly signature: SignatureState;
  /** The same signed id was shown already. */
  readonly isRepeat: boolean;
  readonly body: unknown;
  /** The status that the sender was answered. */
  readonly answered: number;
  /** Why the forwarding failed. */
  readonly forwardError?: string;
}

export function listenCommand(io: Io): Command {
  const command = withConnection(newCommand("listen", "receive webhooks: verify, print, forward"))
    .option("--port <port>", "the port to listen on; 0 for any free one", "4000")
    .option("--host <address>", "the address to listen on", "127.0.0.1")
    .option("--secret <secret>", "verify signatures with it (SLUICE_WEBHOOK_SECRET)")
    .option("--connect", "make a destination for it, with a secret of its own, and delete it at the end")
    .option("--forward <url>", "send each on as it came, and answer what that answers")
    .option("--status <status>", "answer this to each, to see what the collector does then", "200")
    .option("--full", "print each whole, not what differs from the last one of its kind")
    .option("--count <n>", "end after n webhooks")
    .action((options: ListenOptions) => listen(options, io));
  return examples(command, [
    ["What sluice dev would deliver, in one line", "sluice listen --connect"],
    [
      "Into the application under development",
      "sluice listen --connect --forward http://127.0.0.1:3000/webhooks",
    ],
    ["See retries", "sluice listen --connect --status 503"],
  ]);
}

const FORWARD_TIMEOUT_MS = 4_500;
/** Headers that belong to one connection, or that the forwarding request makes itself. */
const OWN_HEADERS = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
  "expect",
]);

async function listen(options: ListenOptions, io: Io): Promise<void> {
  const port = readPort(options.port);
  const status = readInteger("--status", options.status, 200, 599);
  const count =
    options.count === undefined ? Number.POSITIVE_INFINITY : readInteger("--count", options.count, 1, 1e9);
  if (options.forward !== undefined && !URL.canParse(options.forward))
    throw new CommandFailure("usage", `--forward must be a URL, got ${options.forward}`);
  const { verify, verifyStandard, memoryDedupe } = await import("@sluice/webhooks");
  const secret =
    options.secret ??
    io.env.SLUICE_WEBHOOK_SECRET ??
    (options.connect ? randomBytes(24).toString("base64url") : undefined);
  const last = new Map<string, unknown>();
  const shown = memoryDedupe();
  let received = 0;
  let enough = (): void => {};
  const ended = new Promise<void>((resolve) => {
    enough = resolve;
    if (io.interrupted.aborted) resolve();
    io.interrupted.addEventListener("abort", () => resolve(), { once: true });
  });

  /** As a receiver checks it: the Standard Webhooks headers where there are any, else X-Signature. */
  const check = (raw: Buffer, request: IncomingMessage, key: string, nowMs: number): SignatureState => {
    const standard = standardHeaders(request);
    if (Object.values(standard).some((value) => value !== undefined)) {
      const verdict = verifyStandard(raw, standard, key, nowMs);
      return verdict === "mismatch" ? "invalid" : verdict;
    }
    const signature = header(request, SIGNATURE_HEADER);
    if (signature === undefined) return "missing";
    return verify(raw, signature, key) ? "valid" : "invalid";
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const raw = await readBody(request);
    const signature = secret === undefined ? "unchecked" : check(raw, request, secret, io.now());
    const forwarded =
      options.forward === undefined
        ? undefined
        : await forward(options.forward, request, raw).catch(failedForward);
    const answered = forwarded?.status ?? status;
    response.writeHead(answered).end(forwarded?.body ?? "");
    const body = parse(raw);
    const signedId = signature === "valid" ? signedIdOf(request, body) : undefined;
    const isRepeat = signedId !== undefined && (await shown.has(signedId));
    if (signedId !== undefined) await shown.add(signedId);
    const one: Received = {
      at: new Date(io.now()).toISOString(),
      messageId: header(request, MESSAGE_ID_HEADER),
      attempt: header(request, ATTEMPT_HEADER),
      signature,
      isRepeat,
      body,
      answered,
      ...(forwarded?.error === undefined ? {} : { forwardError: forwarded.error }),
    };
    await io.out(options.json ? `${terminalJson(one)}\n` : describe(one, last, options.full === true, io));
    received += 1;
    if (received >= count) enough();
  };
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => {
      io.err(`${io.errStyle.red("error")} ${terminalText(String(error))}\n`);
      if (!response.headersSent) response.writeHead(400).end();
    });
  });
  server.listen(port, options.host);
  await once(server, "listening").catch((error: NodeJS.ErrnoException) => {
    throw cannotListen(error, options.host, port);
  });
  const url = `http://${options.host}:${(server.address() as AddressInfo).port}/`;
  try {
    const disconnect = options.connect ? await makeDestination(url, secret ?? "", options, io) : undefined;
    try {
      io.err(
        `listening on ${url}${options.forward === undefined ? "" : `, forwarding to ${options.forward}`}\n`,
      );
      await ended;
    } finally {
      await disconnect?.();
    }
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

function cannotListen({ code, message }: NodeJS.ErrnoException, host: string, port: number): CommandFailure {
  switch (code) {
    case "EADDRINUSE":
      return new CommandFailure(
        "failed",
        `Port ${port} is taken by another program`,
        "Choose another with --port, or any free one with --port 0. An application that runs there already gets them by --forward",
      );
    case "EACCES":
      return new CommandFailure(
        "failed",
        `This user may not listen on port ${port}`,
        "Choose one above 1023 with --port",
      );
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return new CommandFailure(
        "usage",
        `${host} is no address of this machine`,
        "Choose another with --host",
      );
    default:
      return new CommandFailure("failed", `Nothing can listen on port ${port} of ${host}: ${message}`);
  }
}

/** How the names of destinations begin that this command made. */
const MADE_HERE = "sluice listen ";

/** Deletes what a `listen --connect` left behind that was killed: those of our own address, and those where nothing listens. */
async function removeStale(client: AdminClient, ownUrl: string, io: Io): Promise<void> {
  const made: { id: string; url: string }[] = [];
  for await (const { id, name } of allPages((cursor) => client.destinations.list({ cursor })))
    if (name.startsWith(MADE_HERE)) made.push({ id, url: name.slice(MADE_HERE.length) });
  for (const { id, url } of made) {
    if (url !== ownUrl && !(await isSilent(url))) continue;
    await client.destinations.delete(id);
    io.err(`${io.errStyle.dim(terminalText(`removed the destination of an earlier listen on ${url}`))}\n`);
  }
}

const LOOK_TIMEOUT_MS = 2_000;

/** Whether a connection is refused: silence of another kind may be a firewall's. */
async function isSilent(url: string): Promise<boolean> {
  if (!URL.canParse(url)) return false;
  const { hostname, port } = new URL(url);
  const socket = createConnection({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) });
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(LOOK_TIMEOUT_MS) });
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ECONNREFUSED";
  } finally {
    socket.destroy();
  }
}

/** A destination that every source is connected to; the answer deletes it. */
async function makeDestination(
  url: string,
  secret: string,
  options: ListenOptions,
  io: Io,
): Promise<() => Promise<void>> {
  const client = await connect(options, io);
  await removeStale(client, url, io);
  const sourceIds: string[] = [];
  for await (const { id } of allPages((cursor) => client.sources.list({ cursor }))) sourceIds.push(id);
  const { id } = await client.destinations.create({
    type: "webhooks",
    name: `${MADE_HERE}${url}`,
    sourceIds,
    settings: { webhooks: [{ url }], sharedSecret: secret },
  });
  return () => client.destinations.delete(id);
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > 4 * LIMITS.messageBytes) throw new Error("a request was larger than any webhook");
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

async function forward(
  url: string,
  request: IncomingMessage,
  raw: Buffer,
): Promise<{ status: number; body: Buffer; error?: string }> {
  const headers = Object.entries(request.headers).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string" && !OWN_HEADERS.has(entry[0]),
  );
  const response = await fetch(url, {
    method: "POST",
    headers,
    body: new Uint8Array(raw),
    redirect: "manual",
    signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
  });
  return { status: response.status, body: Buffer.from(await response.arrayBuffer()) };
}

/** Nobody took it: the sender is told so, and tries again. */
function failedForward(error: unknown): { status: number; body: string; error: string } {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as NodeJS.ErrnoException).code ?? String(cause);
  return { status: 502, body: "", error: code };
}

function standardHeaders(request: IncomingMessage) {
  return {
    "webhook-id": header(request, "webhook-id"),
    "webhook-timestamp": header(request, "webhook-timestamp"),
    "webhook-signature": header(request, "webhook-signature"),
  };
}

/** What a valid webhook is known by: `webhook-id`, else the `messageId` in its body. Both are signed. */
function signedIdOf(request: IncomingMessage, body: unknown): string | undefined {
  const id = header(request, "webhook-id") ?? (body as { messageId?: unknown } | null)?.messageId;
  return typeof id === "string" && id !== "" ? id : undefined;
}

function header(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name.toLowerCase()];
  return Array.isArray(value) ? value[0] : value;
}

function parse(raw: Buffer): unknown {
  const text = raw.toString("utf8");
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const LONGEST_VALUE = 120;

function describe(one: Received, last: Map<string, unknown>, isFull: boolean, io: Io): string {
  const { style } = io;
  const body = (typeof one.body === "object" && one.body !== null ? one.body : {}) as {
    [field: string]: unknown;
  };
  const kind = `${String(body.type ?? "?")} ${String(body.event ?? body.name ?? body.groupId ?? "")}`.trim();
  const before = last.get(kind);
  last.set(kind, one.body);
  const head = [
    style.dim(one.at.slice(11, 23)),
    style.bold(terminalText(kind)),
    signatureWord(one.signature, style),
    one.attempt === undefined || one.attempt === "1"
      ? ""
      : style.yellow(`attempt ${terminalText(one.attempt)}`),
    one.answered < 300 ? style.green(String(one.answered)) : style.red(String(one.answered)),
    one.forwardError === undefined ? "" : style.red(`not forwarded: ${terminalText(one.forwardError)}`),
    style.dim(terminalText(one.messageId ?? "")),
  ].filter(Boolean);
  // A message that comes again is the same: one line says so.
  if (one.isRepeat && !isFull) return `${head.join("  ")}  ${style.dim("again")}\n`;
  const rest =
    isFull || before === undefined
      ? `${terminalJson(one.body, 2)
          .split("\n")
          .map((line) => `  ${line}`)
          .join("\n")}\n`
      : diffLines(before, one.body, style);
  return `${head.join("  ")}\n${rest}`;
}

function diffLines(before: unknown, after: unknown, style: Style): string {
  const value = (of: { readonly value: unknown }) => clip(terminalJson(of.value), LONGEST_VALUE);
  return jsonDiff(before, after)
    .map(({ path, before: was, after: is }) => {
      const name = terminalText(path);
      return [
        was === undefined ? "" : `${style.red(`  - ${name}: ${value(was)}`)}\n`,
        is === undefined ? "" : `${style.green(`  + ${name}: ${value(is)}`)}\n`,
      ].join("");
    })
    .join("");
}

function signatureWord(signature: Received["signature"], style: Style): string {
  switch (signature) {
    case "valid":
      return style.green("signed");
    case "invalid":
      return style.red("WRONG SIGNATURE");
    case "outside_window":
      return style.red("SIGNED OVER 5 MIN OFF");
    case "missing":
      return style.red("NOT SIGNED");
    case "unchecked":
      return style.dim("signature not checked");
    default:
      return signature satisfies never;
  }
}
