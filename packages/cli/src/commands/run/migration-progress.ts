import type { MigrateOptions } from "@sluice/collector";
import { bytesText } from "./backup-text.js";

type Progress = Parameters<MigrateOptions["onProgress"]>[0];

const STEPS: Readonly<Record<Progress["step"], string>> = {
  "count source": "reading the data folder",
  copy: "copying the databases",
  upload: "uploading",
  download: "downloading the newest snapshot",
  "read log": "reading the log",
  check: "comparing",
};
/** A step that goes on is told about this often. */
const EVERY_MS = 2_000;

/** Tells when a step begins, when it ends, and how far it is from time to time. */
export function migrationProgress(
  tell: (line: string) => void,
  monotonic: () => number,
): (progress: Progress) => void {
  let last: string | undefined;
  let toldAtMs = 0;
  return (progress) => {
    const nowMs = monotonic();
    const isOver = progress.done !== undefined && progress.done === progress.total;
    const step = STEPS[progress.step];
    if (step === last && !isOver && nowMs - toldAtMs < EVERY_MS) return;
    last = step;
    toldAtMs = nowMs;
    tell(`${step}${amount(progress)}`);
  };
}

function amount({ done, total, unit }: Progress): string {
  if (done === undefined || total === undefined) return "";
  return unit === "bytes" ? `: ${bytesText(done)} of ${bytesText(total)}` : `: ${done} of ${total} entries`;
}
