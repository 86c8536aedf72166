import { ISSUES } from "@sluice/protocol";
import { CommandFailure } from "../../failures.js";
import { asStarted } from "../../terminal/invocation.js";
import type { Io } from "../../terminal/io.js";
import { plural } from "../../terminal/plural.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";
import type { Checkpoint } from "./checkpoint.js";
import type { Targets } from "./choose-delivery.js";
import { deliveryText } from "./choose-delivery.js";
import type { ImportProgress } from "./import-records.js";
import { addUp, perSecond } from "./progress-tracker.js";

interface ImportResult {
  readonly progress: ImportProgress;
  readonly earlier: Checkpoint | undefined;
  readonly seconds: number;
  readonly rejectPath: string;
  readonly deliver: boolean;
  readonly targets: Targets;
  /** Messages with ids that were not joined. Undefined: not known. */
  readonly joins: number | undefined;
}

export async function report(
  { progress, earlier, seconds, rejectPath, deliver, targets, joins }: ImportResult,
  asJson: boolean | undefined,
  io: Io,
): Promise<void> {
  const totals = addUp(progress, earlier);
  const notes = { ...totals.notes, ...(joins === undefined || joins === 0 ? {} : { join_refused: joins }) };
  const rate = Math.round(perSecond(progress.accepted + progress.rejected, seconds));
  if (asJson) {
    const rejects = totals.rejected > 0 ? { rejects: rejectPath } : {};
    await io.out(`${terminalJson({ ...totals, notes, deliver, seconds, rate, ...rejects })}\n`);
  } else {
    const total = earlier === undefined ? "" : `; in total ${counts(totals)}`;
    await io.out(
      `${io.style.green("imported")} ${counts(progress)} in ${seconds.toFixed(1)} s, ${rate}/s${total}; ${terminalText(deliveryText(deliver, targets, progress.naming))}\n`,
    );
    io.err(asStarted(noteLines(notes), io));
  }
  if (totals.rejected > 0)
    throw new CommandFailure(
      "partly",
      `${plural(totals.rejected, "message was", "messages were")} refused`,
      `See ${terminalText(rejectPath)} for the messages and the reasons`,
    );
}

/** `accepted` includes duplicates, which are not new. */
function counts({
  accepted,
  duplicates,
}: {
  readonly accepted: number;
  readonly duplicates: number;
}): string {
  if (duplicates === 0) return plural(accepted, "message", "messages");
  return `${accepted - duplicates} new, ${duplicates} duplicates`;
}

const NOTES: { readonly [code: string]: string } = {
  timestamp_unparseable: ISSUES.timestamp_unparseable,
  join_refused: "ids were not joined to a user: `npx sluice messages get ID` says why",
};

/** A line for each kind of note on accepted messages. */
function noteLines(notes: { readonly [code: string]: number }): string {
  return Object.entries(notes)
    .map(([code, count]) => {
      const meaning = NOTES[code] ?? code;
      return `${plural(count, "accepted message has", "accepted messages have")} the note ${code}: ${meaning}\n`;
    })
    .join("");
}
