import type { DeletionPlan, DeletionReceipt, DeletionView } from "@sluice/control-api";
import { asStarted } from "../../terminal/invocation.js";
import type { Io } from "../../terminal/io.js";
import { table } from "../../terminal/table.js";
import { terminalText } from "../../terminal/terminal-text.js";

export function deletionsTable(deletions: readonly DeletionView[], io: Io): string {
  return table(
    ["ID", "STATUS", "STEP", "USERS", "CREATED"],
    deletions.map(({ id, status, step, userCount, createdAt }) => [id, status, step, userCount, createdAt]),
    io.style.bold,
  );
}

/** What a deletion would remove: a row per user, and notes about their other ids. */
export function planText(plan: DeletionPlan, io: Io): string {
  const { users, includeAliases } = plan;
  const aliases = includeAliases ? "ALIASES" : "ALIASES LEFT";
  const rows = table(
    ["USER", "MESSAGES", "ATTEMPTS", "QUEUED", "PROFILE", "AUDIENCES", "DEVICES", aliases],
    users.map((user) => [
      user.userId ?? `${user.anonymousId ?? ""} (anonymous)`,
      user.messages,
      user.attempts,
      user.retries,
      user.profile ? "yes" : "none",
      user.audienceMemberships,
      user.anonymousIds.length,
      user.aliases.length,
    ]),
    io.style.bold,
  );
  const notes = users.flatMap((user) => idNotes(user, includeAliases));
  return rows + notes.map((note) => `${terminalText(note)}\n`).join("") + unknownUserNotes(plan);
}

function idNotes(
  { userId = "", anonymousIds, aliases }: DeletionPlan["users"][number],
  includeAliases: boolean,
): string[] {
  const notes: string[] = [];
  if (anonymousIds.length > 0)
    notes.push(`${userId}: these anonymous ids are deleted too: ${anonymousIds.join(", ")}`);
  if (aliases.length > 0) {
    const what = includeAliases ? "are deleted too" : "are kept without --include-aliases";
    notes.push(`${userId}: other user ids of the same profile ${what}: ${aliases.join(", ")}`);
  }
  return notes;
}

/** A line for each id without any data. Most of them are typing errors. */
export function unknownUserNotes({ users }: DeletionPlan): string {
  return users
    .filter(
      ({ messages, profile, anonymousIds, aliases }) =>
        messages === 0 && !profile && anonymousIds.length + aliases.length === 0,
    )
    .map(({ userId, anonymousId = "" }) => terminalText(`no data found for ${userId ?? anonymousId}`))
    .map((note) => `${note}\n`)
    .join("");
}

/** `names`: destinations by id. */
export function receiptText(
  { id, status, receipt }: DeletionView,
  names: ReadonlyMap<string, string>,
  io: Io,
): string {
  if (receipt === undefined) return "";
  const { users, purgedAt, erasedAt, deleteMessages, tracesErasedAt, gaveUpAt } = receipt;
  const headings =
    "ID (HMAC)|KIND|MESSAGES|ATTEMPTS|QUEUED|PROFILE|AUDIENCES|DEVICES|ALIASES|ALIASES LEFT".split("|");
  const usersTable = table(
    headings,
    users.map((user) => [
      user.idHmac,
      user.kind,
      user.messages,
      user.attempts,
      user.retries,
      user.profile ? "removed" : "none",
      user.audienceMemberships,
      user.anonymousIds,
      user.aliases ?? 0,
      user.aliasesLeft,
    ]),
    io.style.bold,
  );
  const stepsTable = table(
    ["STEP", "DONE"],
    [
      ["no longer in any response", purgedAt ?? ""],
      ["erased from the files", erasedAt ?? ""],
      [`delete messages (${deleteMessages.length}) erased`, tracesErasedAt ?? ""],
      ...(gaveUpAt === undefined ? [] : [["given up, although delete messages had failed", gaveUpAt]]),
    ],
    io.style.bold,
  );
  const next =
    status === "undelivered"
      ? `${asStarted(`Fix the destination, then send them again: npx sluice deletions retry ${id}`, io)}\n`
      : "";
  return `\n${usersTable}\n${stepsTable}${deliveriesText(deleteMessages, names, io)}${io.style.dim(next)}`;
}

/** How the delete messages stand, per destination. */
function deliveriesText(
  deleteMessages: DeletionReceipt["deleteMessages"],
  names: ReadonlyMap<string, string>,
  io: Io,
): string {
  const rows = deleteMessages.flatMap(({ messageId, deliveries = [] }) =>
    deliveries.map(({ destinationId, state, attempts, error = "" }) => [
      names.get(destinationId) ?? destinationId,
      state.replace("_", " "),
      attempts,
      error,
      messageId,
    ]),
  );
  if (rows.length === 0) return "";
  const columns = ["DELETE MESSAGE TO", "STATE", "ATTEMPTS", "ERROR", "MESSAGE"];
  return `\n${table(columns, rows, io.style.bold)}`;
}
