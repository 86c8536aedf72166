import { isMessageKind, MESSAGE_KINDS, type RejectedMessage, type UncheckedMessage } from "@sluice/protocol";
import type { Command } from "commander";
import {
  type ConnectionOptions,
  collectorUrl,
  findWriteKey,
  withConnection,
} from "../../connection/connection.js";
import { postBatch } from "../../connection/post-batch.js";
import { examples, newCommand } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";

interface SendOptions extends ConnectionOptions {
  readonly writeKey?: string;
  readonly event?: string;
  readonly name?: string;
  readonly category?: string;
  readonly user?: string;
  readonly anonymous?: string;
  readonly group?: string;
  readonly previous?: string;
  readonly properties?: string;
  readonly traits?: string;
  readonly context?: string;
  readonly integrations?: string;
  readonly timestamp?: string;
  readonly messageId?: string;
  readonly count: string;
  readonly json?: boolean;
}

export function sendCommand(io: Io): Command {
  const command = withConnection(newCommand("send", "send one message, or the same one many times"))
    .argument("<kind>", `${MESSAGE_KINDS.join(", ")}`)
    .option("--write-key <key>", "a source's write key (SLUICE_WRITE_KEY; default: that of sluice dev)")
    .option("--event <name>", "the event's name (track)")
    .option("--name <name>", "the page's or screen's name")
    .option("--category <name>", "the page's or screen's category; needs a name")
    .option("--user <id>", "userId; where neither user nor anonymous id is given, cli-user")
    .option("--anonymous <id>", "anonymousId")
    .option("--group <id>", "groupId (group)")
    .option("--previous <id>", "previousId (alias)")
    .option("--properties <json>", "properties, a JSON object (track, page, screen)")
    .option("--traits <json>", "traits, a JSON object (identify, group)")
    .option("--context <json>", "context, a JSON object")
    .option("--integrations <json>", 'which destinations, such as {"All":false,"Webhooks":true}')
    .option("--timestamp <time>", "when it happened, ISO 8601 (default: now)")
    .option("--message-id <id>", "the message's id (default: made here)")
    .option("--count <n>", "send it so many times, each with its own id", "1")
    .action((kind: string, options: SendOptions) => send(kind, options, io));
  return examples(command, [
    [
      "One event to the sluice dev that runs here",
      `sluice send track --event "Signed Up" --properties '{"plan":"pro"}'`,
    ],
    ["Traits of a user", `sluice send identify --user 42 --traits '{"email":"ann@example.com"}'`],
    [
      "A thousand events elsewhere",
      "sluice send track --event Ping --count 1000 --url https://events.example.com --write-key …",
    ],
  ]);
}

const MOST_MESSAGES = 1_000_000;
const MESSAGES_A_BATCH = 250;
/** Somebody waits for the answer, and knows better than we whether a collector is being started. */
const AWAY_PATIENCE_MS = 3_000;

async function send(kind: string, options: SendOptions, io: Io): Promise<void> {
  if (!isMessageKind(kind))
    throw new CommandFailure("usage", `${kind} is no kind of message; there are ${MESSAGE_KINDS.join(", ")}`);
  const count = Number(options.count);
  if (!Number.isInteger(count) || count < 1 || count > MOST_MESSAGES)
    throw new CommandFailure(
      "usage",
      `--count must be an integer from 1 to ${MOST_MESSAGES}, got ${options.count}`,
    );
  const { timestamp } = options;
  if (timestamp !== undefined && !(/^\d{4}-\d\d/.test(timestamp) && Number.isFinite(Date.parse(timestamp))))
    throw new CommandFailure(
      "usage",
      `--timestamp must be a time such as 2026-11-21T17:00:00Z, got ${timestamp}`,
    );
  const message = { type: kind, ...fieldsOf(options) };
  const url = await collectorUrl(options, io);
  const writeKey = await findWriteKey(options, io);
  const ids: string[] = [];
  const rejected: RejectedMessage[] = [];
  let duplicates = 0;
  let isSaid = false;
  const sayOnce = (reason: string): void => {
    if (!isSaid) io.err(`${io.errStyle.yellow(terminalText(reason))}; trying again\n`);
    isSaid = true;
  };
  for (let sent = 0; sent < count && !io.interrupted.aborted; sent += MESSAGES_A_BATCH) {
    const batch = Array.from({ length: Math.min(MESSAGES_A_BATCH, count - sent) }, () => ({
      ...message,
      messageId: count === 1 ? (options.messageId ?? crypto.randomUUID()) : crypto.randomUUID(),
      ...(options.timestamp === undefined ? { originalTimestamp: new Date(io.now()).toISOString() } : {}),
    }));
    const answer = await postBatch({
      url,
      writeKey,
      batch,
      io,
      awayPatienceMs: AWAY_PATIENCE_MS,
      onRetry: sayOnce,
    });
    ids.push(...batch.map(({ messageId }) => messageId));
    rejected.push(...(answer.rejected ?? []));
    duplicates += answer.duplicates ?? 0;
  }
  await report({ kind, ids, rejected, duplicates }, options.json === true, io);
  if (rejected.length > 0)
    throw new CommandFailure("partly", `${rejected.length} of ${ids.length} were refused`);
}

async function report(
  {
    kind,
    ids,
    rejected,
    duplicates,
  }: { kind: string; ids: string[]; rejected: RejectedMessage[]; duplicates: number },
  asJson: boolean,
  io: Io,
): Promise<void> {
  const accepted = ids.length - rejected.length;
  if (asJson) {
    await io.out(
      `${terminalJson({ accepted, duplicates, rejected, ...(ids.length === 1 ? { messageId: ids[0] } : {}) })}\n`,
    );
    return;
  }
  for (const { code, message } of rejected.slice(0, 10))
    io.err(`${io.errStyle.red("refused")} ${terminalText(`${code}: ${message}`)}\n`);
  if (accepted === 0) return;
  const what = ids.length === 1 ? `${kind} ${terminalText(ids[0] ?? "")}` : `${accepted} ${kind} messages`;
  const known = duplicates > 0 ? io.style.yellow(` (${duplicates} of them known already)`) : "";
  await io.out(`${io.style.green("accepted")} ${what}${known}\n`);
}

function fieldsOf(options: SendOptions): UncheckedMessage {
  const isNobody = options.user === undefined && options.anonymous === undefined;
  const fields: UncheckedMessage = {
    userId: isNobody ? "cli-user" : options.user,
    anonymousId: options.anonymous,
    event: options.event,
    name: options.name,
    category: options.category,
    groupId: options.group,
    previousId: options.previous,
    timestamp: options.timestamp,
    properties: readObject("--properties", options.properties),
    traits: readObject("--traits", options.traits),
    context: readObject("--context", options.context),
    integrations: readObject("--integrations", options.integrations),
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function readObject(option: string, text: string | undefined): object | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Said below, as for JSON that is no object.
  }
  throw new CommandFailure("usage", `${option} must be a JSON object, got ${text}`);
}
