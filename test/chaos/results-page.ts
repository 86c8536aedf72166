import { readFile, writeFile } from "node:fs/promises";
import { cpus, loadavg, totalmem } from "node:os";

const PAGE = new URL("../../docs/contributing/chaos.md", import.meta.url);

/** What was played of a table. */
export interface Played {
  /** Absent: nothing, so that its part of the page stays as it is. */
  readonly table: string | undefined;
  /** Troubles that were left out, with the reason. */
  readonly skipped: readonly string[];
}

/** By the mark of their place in the page. */
export interface Tables {
  readonly table: Played;
  readonly "cluster table": Played;
}

/** How the tables were made. */
export interface PlayedRun {
  readonly rounds: number;
  readonly seed: number;
  readonly isShort: boolean;
  /** As in `--store`. Undefined: all of them. */
  readonly store: string | undefined;
  /** Of the cluster. */
  /** It ended before it had played all rounds. */
  readonly isCutShort: boolean;
  /** As in `2026-11-23`. */
  readonly date: string;
  /** Versions and hardware, a line each. */
  readonly machine: readonly string[];
}

/** Puts each table between its marks, with the command that made it. Everything else that is between them goes. */
export function pageWith(page: string, tables: Tables, run: PlayedRun): string {
  return MARKS.reduce((text, mark) => {
    const { table, skipped } = tables[mark];
    if (table === undefined) return text;
    const place = new RegExp(`(?<=<!-- ${mark} -->\\n)[^]*?(?=\\n<!-- end -->)`);
    if (!place.test(text)) throw new Error(`The page has no <!-- ${mark} --> with an <!-- end --> after it`);
    const parts = [captionOf(run, mark), table, ...(skipped.length > 0 ? [listOf(skipped)] : [])];
    return text.replace(place, () => `\n${parts.join("\n\n")}\n`);
  }, page);
}

const MARKS = ["table", "cluster table"] as const;

function captionOf(run: PlayedRun, mark: (typeof MARKS)[number]): string {
  const { rounds, seed, isShort, isCutShort, date, machine } = run;
  const isCluster = mark === "cluster table";
  const store = isCluster ? "replicated" : run.store;
  const chosen = store === undefined ? "" : ` --store ${store}`;
  const short = isShort ? " --short" : "";
  return [
    `Made with \`npm run chaos --${chosen} --rounds ${rounds} --seed ${seed}${short}\` on ${date}:`,
    `${machine.join("\n")}.`,
    ...(isCutShort ? ["It was ended before it had played all rounds."] : []),
  ].join("\n");
}

function listOf(skipped: readonly string[]): string {
  return ["Left out on this machine:", "", ...skipped.map((line) => `- ${line}`)].join("\n");
}

/** Writes docs/contributing/chaos.md. */
export async function writePage(tables: Tables, run: Omit<PlayedRun, "date" | "machine">): Promise<void> {
  const [cpu] = cpus();
  const page = pageWith(await readFile(PAGE, "utf8"), tables, {
    ...run,
    date: new Date().toISOString().slice(0, 10),
    machine: [
      `Node.js ${process.versions.node}, ${process.platform} ${process.arch}, ${cpus().length} cores`,
      `(${cpu?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GB of memory, a load of ${loadavg()[2]?.toFixed(0)}`,
    ],
  });
  await writeFile(PAGE, page);
}
