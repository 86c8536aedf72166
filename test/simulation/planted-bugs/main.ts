import { copySources } from "./find-planted-bug.js";
import { PLANTED_BUGS } from "./planted-bugs.js";

/** `npm run simulate:planted -- [names]`: plants each bug in turn and prints the seed that finds it. */
const names = process.argv.slice(2);
const known = PLANTED_BUGS.map(({ name }) => name);
const unknown = names.find((name) => !known.includes(name));
if (unknown !== undefined) {
  console.error(`simulate:planted: there is no bug ${unknown}. Bugs: ${known.join(", ")}`);
  process.exit(2);
}
const copy = copySources();
process.on("exit", () => copy.remove());
for (const bug of PLANTED_BUGS) {
  if (names.length > 0 && !names.includes(bug.name)) continue;
  const { seed, output } = await copy.find(bug);
  const isExpected = output.includes(`  ${bug.invariant}: `);
  console.log(`${bug.name}: ${seed === undefined ? "NOT FOUND" : `seed ${seed}`} of ${bug.withinSeeds}`);
  if (seed !== undefined && isExpected) continue;
  process.exitCode = 1;
  console.log(output);
}
