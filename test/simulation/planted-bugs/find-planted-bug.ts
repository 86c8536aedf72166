import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PlantedBug } from "./planted-bug.js";

const root = join(import.meta.dirname, "../../..");
/** What the simulation runs from. */
const SOURCES = [
  "packages",
  "apps/collector/src",
  "apps/collector/package.json",
  "test/simulation",
  "scripts",
  "tsconfig.base.json",
  "package.json",
];

export interface Found {
  readonly seed: number | undefined;
  /** What the simulation printed. */
  readonly output: string;
}

interface Seeds {
  readonly first: number;
  readonly count: number;
}

/** A copy of the sources outside of the work tree, to plant bugs in. */
export interface SourceCopy {
  /** Resolves with the first seed that fails with the bug planted. */
  find(bug: PlantedBug): Promise<Found>;
  /** The same, but tries the seed that found it last before all others. */
  findAgain(bug: PlantedBug): Promise<Found>;
  remove(): void;
}

export function copySources(): SourceCopy {
  const folder = mkdtempSync(join(tmpdir(), "sluice-planted-bugs-"));
  for (const path of SOURCES)
    cpSync(join(root, path), join(folder, path), {
      recursive: true,
      filter: (source) => !/\/(?:dist|node_modules|\.turbo)(?:\/|$)/.test(source),
    });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const patch = (bug: PlantedBug, ...options: string[]) =>
    spawnSync("git", ["apply", ...options, join(import.meta.dirname, `${bug.name}.patch`)], {
      cwd: folder,
      encoding: "utf8",
    });
  const run = async (bug: PlantedBug, seeds: Seeds): Promise<Found> => {
    const { status, stderr } = patch(bug);
    if (status !== 0) throw new Error(`The patch of ${bug.name} does not apply: ${stderr}`);
    try {
      const output = await simulate(folder, bug, seeds);
      const [, seed] = /^seed (\d+) fails/m.exec(output) ?? [];
      return { seed: seed === undefined ? undefined : Number(seed), output };
    } finally {
      patch(bug, "--reverse");
    }
  };
  const find = (bug: PlantedBug): Promise<Found> => run(bug, { first: 1, count: bug.withinSeeds });
  return {
    find,
    async findAgain(bug) {
      const found = await run(bug, { first: bug.foundAt, count: 1 });
      return found.seed === undefined ? find(bug) : found;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function simulate(
  folder: string,
  { invariant, store, theme, workers }: PlantedBug,
  { first, count }: Seeds,
): Promise<string> {
  const args = ["--import", "./scripts/source-loader.mjs", "test/simulation/main.ts"];
  args.push("--seed", String(first), "--seeds", String(count), "--invariant", invariant, "--no-shrink");
  if (store !== undefined) args.push("--store", store);
  if (theme !== undefined) args.push("--theme", theme);
  if (workers !== undefined) args.push("--workers", String(workers));
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    const add = (chunk: Buffer): void => {
      output += chunk;
    };
    child.stdout.on("data", add);
    child.stderr.on("data", add);
    child.on("error", reject);
    child.on("close", () => resolve(output));
  });
}
