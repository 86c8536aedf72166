import { isMessageKind, MESSAGE_KINDS, type RejectedMessage, type UncheckedMessage } from "@sluice/protocol";
import type { Command } from "commander";
import { definedFields, readInteger, readJsonObject } from "../../arguments.js";
import {
  collectorUrl,
  connectedCommand,
  findWriteKey,
  type WriteKeyOptions,
  withWriteKey,
} from "../../connection/connection.js";
import { postBatch } from "../../connection/post-batch.js";
import { examples } from "../../definition.js";
import { CommandFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";

interface SendOptions extends WriteKeyOptions {
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
  const command = connectedCommand("send", "send a message, once or many times").argument(
    "<type>",
    MESSAGE_KINDS.join(", "),
  );
  withWriteKey(command)
    .option("--event <name>", "the event's name (track)")
    .option("--name <name>", "the page's or screen's name")
    .option("--category <name>", "the page's or screen's category; requires --name")
    .option("--user <id>", "userId (default: cli-user, unless --anonymous is given)")
    .option("--anonymous <id>", "anonymousId")
    .option("--group <id>", "groupId (group)")
    .option("--previous <id>", "previousId (alias)")
    .option("--properties <json>", "properties, a JSON object (track, page, screen)")
    .option("--traits <json>", "traits, a JSON object (identify, group)")
    .option("--context <json>", "context, a JSON object")
    .option("--integrations <json>", 'the destinations, such as {"All":false,"Webhooks":true}')
    .option("--timestamp <time>", "when it happened, ISO 8601 (default: now)")
    .option("--message-id <id>", "the message's id (default: generated)")
    .option("--count <n>", "send it n times, each with its own id", "1")
    .action((kind: string, options: SendOptions) => send(kind, options, io));
  return examples(command, [
    [
      "An event to the running sluice dev",
      `sluice send track --event "Signed Up" --properties '{"plan":"pro"}'`,
    ],
    ["Traits of a user", `sluice send identify --user 42 --traits '{"email":"ann@example.com"}'`],
    [
      "A thousand events to another collector",
      "sluice send track --event Ping --count 1000 --url https://events.example.com --write-key …",
    ],
  ]);
}

const MAX_MESSAGES = 1_000_000;
const MESSAGES_PER_BATCH = 250;
/** Short, because a person is waiting and can see whether a collector is about to start. */
const UNREACHABLE_TIMEOUT_MS = 3_000;

interface Sent {
  readonly ids: string[];
  readonly rejected: RejectedMessage[];
  duplicates: number;
}

async function send(kind: string, options: SendOptions, io: Io): Promise<void> {
  const message = readMessage(kind, options);
  const count = readInteger("--count", options.count, 1, MAX_MESSAGES);
  const url = await collectorUrl(options, io);
  const writeKey = await findWriteKey(options, io);
  const onRetry = reportFirstRetry(io);
  const sent: Sent = { ids: [], rejected: [], duplicates: 0 };
  for (let done = 0; done < count && !io.interrupted.aborted; done += MESSAGES_PER_BATCH) {
    const batch = Array.from({ length: Math.min(MESSAGES_PER_BATCH, count - done) }, () => ({
      ...message,
      messageId: (count === 1 ? options.messageId : undefined) ?? crypto.randomUUID(),
      ...(options.timestamp === undefined ? { originalTimestamp: new Date(io.now()).toISOString() } : {}),
    }));
    const answer = await postBatch({
      url,
      writeKey,
      batch,
      io,
      unreachableTimeoutMs: UNREACHABLE_TIMEOUT_MS,
      onRetry,
    });
    sent.ids.push(...batch.map(({ messageId }) => messageId));
    sent.rejected.push(...(answer.rejected ?? []));
    sent.duplicates += answer.duplicates ?? 0;
  }
  await reportSent(kind, sent, options.json === true, io);
  const { ids, rejected } = sent;
  if (rejected.length > 0)
    throw new CommandFailure("partly", `${rejected.length} of ${ids.length} messages were refused`);
}

function readMessage(kind: string, options: SendOptions): UncheckedMessage {
  if (!isMessageKind(kind))
    throw new CommandFailure("usage", `The type must be one of ${MESSAGE_KINDS.join(", ")}, got ${kind}`);
  const { timestamp, user, anonymous } = options;
  if (timestamp !== undefined && !(/^\d{4}-\d\d/.test(timestamp) && Number.isFinite(Date.parse(timestamp))))
    throw new CommandFailure(
      "usage",
      `--timestamp must be a time such as 2025-01-31T17:00:00Z, got ${timestamp}`,
    );
  const isWithoutUser = user === undefined && anonymous === undefined;
  return {
    type: kind,
    ...definedFields({
      userId: isWithoutUser ? "cli-user" : user,
      anonymousId: anonymous,
      event: options.event,
      name: options.name,
      category: options.category,
      groupId: options.group,
      previousId: options.previous,
      timestamp,
      properties: readOptionalObject("--properties", options.properties),
      traits: readOptionalObject("--traits", options.traits),
      context: readOptionalObject("--context", options.context),
      integrations: readOptionalObject("--integrations", options.integrations),
    }),
  };
}

function readOptionalObject(option: string, text: string | undefined): object | undefined {
  return text === undefined ? undefined : readJsonObject(option, text);
}

/** Prints the reason for the first retry only. */
function reportFirstRetry(io: Io): (reason: string) => void {
  let isReported = false;
  return (reason) => {
    if (!isReported) io.err(`${io.errStyle.yellow(terminalText(reason))}; retrying\n`);
    isReported = true;
  };
}

async function reportSent(
  kind: string,
  { ids, rejected, duplicates }: Sent,
  asJson: boolean,
  io: Io,
): Promise<void> {
  const accepted = ids.length - rejected.length;
  const [messageId = ""] = ids;
  if (asJson) {
    const result = { accepted, duplicates, rejected, ...(ids.length === 1 ? { messageId } : {}) };
    await io.out(`${terminalJson(result)}\n`);
    return;
  }
  for (const { code, message } of rejected.slice(0, 10))
    io.err(`${io.errStyle.red("refused")} ${terminalText(`${code}: ${message}`)}\n`);
  if (accepted === 0) return;
  const what = ids.length === 1 ? `${kind} ${terminalText(messageId)}` : `${accepted} ${kind} messages`;
  const known = duplicates > 0 ? io.style.yellow(` (${duplicates} duplicates)`) : "";
  await io.out(`${io.style.green("accepted")} ${what}${known}\n`);
}
