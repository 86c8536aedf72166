/**
 * Runs all benches and writes docs/benchmarks.md:
 *
 *   npm run bench                              3 rounds, about ten minutes on an idle machine
 *   npm run bench -- --only ingestion,sdk      some of them; prints the tables
 *   npm run bench -- --short                   shorter loads, to see that everything works; prints the tables
 *   npm run bench -- --write --short           writes the page even so
 *   npm run bench -- --write --only audiences  writes these sections again, and leaves the others
 *
 * Options: --rounds N; --force measures on a busy machine, and the page says so. Rounds are interleaved: each runs every bench once. The
 * tables show medians, and ratios of medians. The public SDKs are included if they are installed (see bench/sdk/README.md).
 */
import { fork } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { BENCHES } from "./catalog.mjs";
import { combineRounds } from "./figures.mjs";
import { busyReason, describeMachine } from "./machine.mjs";
import { generatedPart, pageWith, pageWithSections } from "./page.mjs";
import { peersAreInstalled } from "./sdk/cpu.mjs";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    rounds: { type: "string", default: "3" },
    short: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    force: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
  },
});

function refuse(text) {
  console.error(`bench: ${text}`);
  process.exit(2);
}

const names = values.only?.split(",") ?? Object.keys(BENCHES);
const unknown = names.filter((name) => !Object.hasOwn(BENCHES, name));
if (unknown.length > 0)
  refuse(`there is no bench ${unknown.join(", ")}; the benches are ${Object.keys(BENCHES).join(", ")}`);
const rounds = Number(values.rounds);
if (!Number.isInteger(rounds) || rounds < 1)
  refuse(`--rounds must be an integer of at least 1, got ${values.rounds}`);
const willWrite = values.write || (values.only === undefined && !values.short);
const busy = busyReason();
const loadBefore = loadavg()
  .map((load) => load.toFixed(2))
  .join(", ");
if (willWrite && busy !== undefined && !values.force)
  refuse(`${busy}. Figures of a busy machine mislead: wait, or pass --force, and the page will say so.`);

const LOADER = new URL("../scripts/source-loader.mjs", import.meta.url).href;

/** Runs a bench once, in a process of its own, and resolves with its figures, or with why it was skipped. */
function runOnce({ script, args, short, isSource }) {
  const child = fork(new URL(script, import.meta.url), values.short ? short : args, {
    execArgv: isSource ? ["--expose-gc", "--import", LOADER] : [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const figures = [];
  let skipped;
  child.on("message", (message) => {
    figures.push(...(message.figures ?? []));
    skipped ??= message.skipped;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => {
      if (code === 0 && (figures.length > 0 || skipped !== undefined)) resolve({ figures, skipped });
      else reject(new Error(`bench/${script} ended with ${code} and ${figures.length} figures`));
    });
  });
}

/** The benches that lack something on this machine, with the reason. */
const skipped = new Map();
const measured = new Map(names.map((name) => [name, []]));
for (let round = 1; round <= rounds; round++) {
  for (const name of names) {
    if (skipped.has(name)) continue;
    const startedMs = performance.now();
    const result = await runOnce(BENCHES[name]);
    if (result.skipped === undefined) measured.get(name).push(result.figures);
    else skipped.set(name, result.skipped);
    const seconds = ((performance.now() - startedMs) / 1_000).toFixed(0);
    console.error(`round ${round} of ${rounds}: ${name}, ${seconds} s`);
  }
}

const sections = names.map((name) => ({
  ...BENCHES[name],
  name,
  skipped: skipped.get(name),
  figures: combineRounds(measured.get(name)),
}));
const manifest = (path) => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8")).dependencies;
const peers = peersAreInstalled
  ? Object.entries(manifest("sdk/peers/package.json")).map(([name, version]) => `${name} ${version}`)
  : ["no public SDKs (not installed)"];
const { undici } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")).devDependencies;
const options = process.argv.slice(2).join(" ");
const date = new Date().toISOString().slice(0, 10);
const warnings = [
  ...(busy === undefined ? [] : [`${busy}. Do not trust these figures.`]),
  ...(values.short ? ["Short loads: these figures only show that the benches work."] : []),
];
const generated = generatedPart(sections, {
  machine: describeMachine(),
  load: `${loadBefore} (1, 5 and 15 minutes)`,
  node: process.version,
  versions: [`the floor with undici ${undici}`, ...peers].join(", "),
  date,
  command: options === "" ? "npm run bench" : `npm run bench -- ${options}`,
  rounds: `${rounds}, interleaved; medians, and ratios of medians`,
  warnings,
});
console.log(
  values.json
    ? JSON.stringify(Object.fromEntries(sections.map(({ name, figures }) => [name, figures])))
    : generated,
);
if (willWrite) {
  const page = new URL("../docs/benchmarks.md", import.meta.url);
  const before = readFileSync(page, "utf8");
  writeFileSync(
    page,
    values.only === undefined
      ? pageWith(before, generated)
      : pageWithSections(
          before,
          sections,
          [`Measured on ${date}, after a load of ${loadBefore}.`, ...warnings].join(" "),
        ),
  );
  console.error("bench: docs/benchmarks.md is written");
}
