import type { MessageSummary, RejectedMessageView } from "@sluice/control-api";
import type { Io } from "../../terminal/io.js";
import { PLAIN } from "../../terminal/style.js";
import { table } from "../../terminal/table.js";
import { clip } from "../../terminal/terminal-text.js";
import { outcomeCounts } from "./message-lines.js";

/** Characters of a value that a cell shows. `messages get` shows all of them. */
const NAME_WIDTH = 28;
const USER_WIDTH = 20;
const REASON_WIDTH = 60;

/** Messages with the day and time of their receipt, in UTC like everywhere on the command line. */
export function messagesTable(messages: readonly MessageSummary[], io: Io): string {
  if (messages.length === 0) return "no message matches\n";
  return table(
    ["RECEIVED (UTC)", "TYPE", "EVENT", "USER", "OUTCOMES", "ID"],
    messages.map(({ receivedAt, messageId, message, outcomes }) => [
      dayAndTime(receivedAt),
      String(message.type),
      clip(text(message.event ?? message.name ?? message.groupId ?? message.previousId), NAME_WIDTH),
      clip(text(message.userId ?? message.anonymousId), USER_WIDTH),
      outcomeCounts(outcomes, PLAIN),
      messageId,
    ]),
    io,
  );
}

export function rejectedTable(rejected: readonly RejectedMessageView[], io: Io): string {
  if (rejected.length === 0) return "no message was refused\n";
  return table(
    ["RECEIVED (UTC)", "REASON", "ID"],
    rejected.map(({ receivedAt, issues, messageId = "" }) => [
      dayAndTime(receivedAt),
      clip(issues.map(({ code, message }) => `${code}: ${message}`).join("; "), REASON_WIDTH),
      messageId,
    ]),
    io,
  );
}

/** Filters look at stored messages only. */
export function refusedHint({ invocation }: Io): string {
  return `A filter finds no refused messages. They are here: ${invocation} messages list --rejected`;
}

function text(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}

/** `2026-11-21 09:30:08` from an ISO time. */
function dayAndTime(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}`;
}
