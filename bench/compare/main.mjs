/**
 * CPU per message of the working tree beside another commit, by turns on the same machine:
 *
 *   npm run bench:compare -- COMMIT              default: the commit in bench/baseline
 *     [--rounds 5]                               the side that goes first changes from round to round
 *     [--only "drain of 20,000,start"]
 *     [--check]                                  fails if a case costs over 10 % more in each round; ends a case at the first that is not
 *
 * Both sides run this tree's load against what each built. Ratios hold on a busy machine, because both sides share it; the spread shows
 * how far. The time of a wall clock is not compared.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildCommit } from "./build-commit.mjs";
import { CASES } from "./cases.mjs";
import { isSlowerInEach, summary } from "./rounds.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "5" },
    only: { type: "string" },
    check: { type: "boolean", default: false },
  },
});

function refuse(text) {
  console.error(`bench:compare: ${text}`);
  process.exit(2);
}

const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1)
  refuse(`--rounds must be an integer of at least 1, got ${values.rounds}`);
// Names contain commas, so they are looked for rather than split.
const names = Object.keys(CASES).filter((name) => values.only === undefined || values.only.includes(name));
if (names.length === 0)
  refuse(`--only ${values.only} names no case; the cases are: ${Object.keys(CASES).join("; ")}`);

const HERE = fileURLToPath(new URL("../../", import.meta.url));
const name = positionals[0] ?? readFileSync(new URL("../baseline", import.meta.url), "utf8").trim();
const base = buildCommit(name);

/** Runs the rounds of a case. Each is `{base, ours}` in CPU microseconds. */
async function measure(open) {
  const sides = { base: await open(base.folder), ours: await open(HERE) };
  const measured = [];
  try {
    while (measured.length < rounds) {
      const round = {};
      for (const side of measured.length % 2 === 0 ? ["base", "ours"] : ["ours", "base"])
        round[side] = await sides[side].run();
      measured.push(round);
      if (values.check && !isSlowerInEach(measured)) break;
    }
  } finally {
    for (const side of Object.values(sides)) await side.close();
  }
  return measured;
}

const slower = [];
const rows = [];
for (const name of names) {
  const measured = await measure(CASES[name]);
  if (isSlowerInEach(measured)) slower.push(name);
  rows.push({ "CPU, µs a message (start: µs)": name, ...summary(measured) });
  console.error(`${name}: × ${rows.at(-1).ratio}`);
}
console.log(`base: ${base.commit}`);
console.table(rows);
if (values.check && slower.length > 0) {
  console.error(
    `bench:compare: costs over 10 % more CPU than ${base.commit.slice(0, 8)} in each of ${rounds} rounds: ${slower.join("; ")}. Make it cheaper. If the cost is worth it, move bench/baseline in a commit that says why.`,
  );
  process.exitCode = 1;
}
