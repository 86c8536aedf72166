/**
 * CPU per message compared with a floor in the same run, and the ratio compared with the one in `bench/budgets.json`:
 *
 *   npm run bench:budgets [-- --only "SDK, paced"]     fails if a ratio rose by more than 25 %
 *   npm run bench:budgets -- --write [--force]         stores the present ratios
 *
 * Floor and Sluice take turns. Only ratios of medians are compared, and only CPU time counts. Before a case fails, it is measured with
 * up to three times as many rounds. Rounds in which the machine was disturbed do not count; if too few are left, the case is not
 * decided, which does not fail. `--force` counts rounds on a contended machine too. `--seconds 120` begins no further round of a case
 * when its share of that time is over: what is not decided then is said, and does not fail. With fewer rounds than usual, a case fails
 * only if each of them is over its budget.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { busyReason, contention } from "../machine.mjs";
import { CASES } from "./cases.mjs";
import { isOverInEach, TOLERANCE, verdict } from "./verdict.mjs";

const ROUNDS_AT_ONCE = 3;
const MS = 1_000;
const MOST_ROUNDS = 9;
const FILE = new URL("../budgets.json", import.meta.url);

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    write: { type: "boolean", default: false },
    force: { type: "boolean", default: false },
    seconds: { type: "string" },
  },
});
if (values.only !== undefined && !Object.hasOwn(CASES, values.only)) {
  console.error(
    `bench:budgets: there is no case "${values.only}"; the cases are ${Object.keys(CASES).join("; ")}`,
  );
  process.exit(2);
}
const busy = busyReason();
if (values.write && busy !== undefined && !values.force) {
  console.error(`bench:budgets: ${busy}. Wait until it is idle, or pass --force.`);
  process.exit(2);
}
const budgets = JSON.parse(readFileSync(FILE, "utf8"));
const names = values.only === undefined ? Object.keys(CASES) : [values.only];
const seconds = Number(values.seconds ?? Number.POSITIVE_INFINITY);
if (!(seconds > 0)) {
  console.error(`bench:budgets: --seconds must be a positive number, got ${values.seconds}`);
  process.exit(2);
}
const endsAtMs = performance.now() + seconds * MS;

/** Runs rounds until they decide, or until the time is over. The one that goes first changes from round to round. */
async function measure(name, untilMs) {
  const sides = await CASES[name]();
  const rounds = [];
  let found;
  try {
    do {
      for (
        let more = 0;
        more < ROUNDS_AT_ONCE && (rounds.length === 0 || performance.now() < untilMs);
        more++
      ) {
        const round = { contention: values.force ? 1 : contention() };
        const order = rounds.length % 2 === 0 ? ["floor", "ours"] : ["ours", "floor"];
        for (const side of order) round[side] = await sides[side]();
        if (!values.force) round.contention = Math.max(round.contention, contention());
        rounds.push(round);
        console.log(`${name}: floor ${round.floor.toFixed(2)} µs, Sluice ${round.ours.toFixed(2)} µs`);
      }
      found = verdict(rounds, budgets[name] ?? Number.POSITIVE_INFINITY);
    } while (
      found.counted > 0 &&
      rounds.length < MOST_ROUNDS &&
      performance.now() < untilMs &&
      (values.write || found.kind !== "within")
    );
  } finally {
    await sides.close();
  }
  const isSure = rounds.length >= MOST_ROUNDS || isOverInEach(rounds, budgets[name]);
  if (found.kind === "over" && !isSure) found = { kind: "unclear", counted: found.counted };
  return { name, rounds: rounds.length, ...found };
}

const results = [];
for (const [index, name] of names.entries()) {
  const nowMs = performance.now();
  results.push(await measure(name, nowMs + (endsAtMs - nowMs) / (names.length - index)));
}

console.table(
  results.map(({ name, kind, counted, rounds, floor, ours, ratio }) => ({
    case: name,
    "floor, CPU µs": floor?.toFixed(2),
    "Sluice, CPU µs": ours?.toFixed(2),
    ratio: ratio?.toFixed(2),
    stored: budgets[name]?.toFixed(2),
    limit: budgets[name] === undefined ? undefined : (budgets[name] * (1 + TOLERANCE)).toFixed(2),
    "rounds counted": `${counted} of ${rounds}`,
    verdict: kind,
  })),
);

const unclear = results.filter(({ kind }) => kind === "unclear").map(({ name }) => name);
if (values.write) {
  if (unclear.length > 0) {
    console.error(
      `bench:budgets: the machine is too unsteady to measure ${unclear.join("; ")}; nothing was stored.`,
    );
    process.exit(1);
  }
  for (const { name, ratio } of results) budgets[name] = Number(ratio.toFixed(2));
  writeFileSync(FILE, `${JSON.stringify(budgets, undefined, 2)}\n`);
  console.log("bench/budgets.json: the ratios are stored.");
} else {
  if (unclear.length > 0)
    console.warn(
      `bench:budgets: NOT DECIDED, because other work disturbed the machine or the time was over: ${unclear.join("; ")}`,
    );
  const unset = names.filter((name) => budgets[name] === undefined);
  if (unset.length > 0)
    console.warn(
      `bench:budgets: NOT COMPARED, because bench/budgets.json has no ratio: ${unset.join("; ")}. Add them with --write on an idle machine.`,
    );
  const over = results.filter(({ kind }) => kind === "over");
  for (const { name, ratio } of over)
    console.error(
      `bench:budgets: ${name} costs ${ratio.toFixed(2)} times the floor's CPU, ${Math.round((ratio / budgets[name] - 1) * 100)} % more than the stored ${budgets[name]}. Make it cheaper; CONTRIBUTING.md says when to store a new ratio.`,
    );
  process.exitCode = over.length > 0 ? 1 : 0;
}
