import { ISSUES } from "@sluice/protocol";
import { systemClock } from "@sluice/resilience";
import { CommandFailure } from "../../failures.js";
import { asStarted, type Io } from "../../terminal/io.js";
import { plural } from "../../terminal/style.js";
import { terminalJson, terminalText } from "../../terminal/terminal-text.js";
import type { Checkpoint } from "./checkpoint.js";
import { deliveryText, type KnownTargets, type Targets } from "./choose-delivery.js";
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

interface RefusedJoins {
  /** The source's total of the last days. */
  readonly total: number;
  /** Whether every stored message has been counted. */
  readonly isComplete: boolean;
}

const TIMEOUT_MS = 5_000;

/** How many identify and alias messages of a source had ids that were not joined. Undefined if the collector does not say. */
async function readRefusedJoins(
  { client, sourceId }: KnownTargets,
  io: Io,
): Promise<RefusedJoins | undefined> {
  try {
    const signal = AbortSignal.any([io.interrupted, AbortSignal.timeout(TIMEOUT_MS)]);
    // Whether everything is counted is asked first: what is counted afterwards is in the total.
    const { behind } = await client.call("GET /audience-engine", { signal });
    const { refusedJoins } = await client.call("GET /problems", { signal });
    const total = refusedJoins.find((one) => one.sourceId === sourceId)?.messages ?? 0;
    return { total, isComplete: behind === 0 };
  } catch {
    // The import itself reports a collector that does not respond.
    return undefined;
  }
}

/** Counts the refused joins between two moments. Other messages of the source in that time count too. */
interface RefusedJoinCounter {
  start(): Promise<void>;
  /** Waits a few seconds until all messages are counted. Undefined if it is not known. */
  end(): Promise<number | undefined>;
}

const WAIT_MS = 5_000;
const ASK_EVERY_MS = 200;

export function refusedJoinCounter(targets: Targets, io: Io): RefusedJoinCounter {
  const read = async () => (targets.kind === "known" ? await readRefusedJoins(targets, io) : undefined);
  let before: RefusedJoins | undefined;
  return {
    async start() {
      before = await read();
    },
    async end() {
      if (before === undefined) return undefined;
      const startMs = io.monotonic();
      for (;;) {
        const now = await read();
        if (now === undefined || now.isComplete) return now && Math.max(0, now.total - before.total);
        if (io.monotonic() - startMs > WAIT_MS || io.interrupted.aborted) return undefined;
        await systemClock.sleep(ASK_EVERY_MS, io.interrupted);
      }
    },
  };
}
