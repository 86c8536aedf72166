/**
 * What arrives of 1,000 messages when things go wrong, ours beside the public SDKs': `node bench/sdk/loss.mjs [--write]`.
 * Exits 1 when one of ours is lost without being told exactly once, or a rejection goes unhandled.
 */
import { fork } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { peersAreInstalled } from "./cpu.mjs";
import { SCENARIOS } from "./loss/scenarios.mjs";

const { values } = parseArgs({ options: { write: { type: "boolean" } } });
if (values.write && !peersAreInstalled) {
  console.error("--write would take the public SDKs out of the page: install them first, see README.md.");
  process.exit(2);
}
const CLIENTS = {
  "@sluice/node": "loss/clients/sluice",
  ...(peersAreInstalled && {
    "@segment/analytics-node 3.1.0": "peers/loss/segment",
    "posthog-node 5.70.0": "peers/loss/posthog",
    "analytics-node 6.2.0": "peers/loss/analytics-node",
    "@rudderstack/rudder-sdk-node 3.0.13": "peers/loss/rudder",
  }),
};
const LONGEST_RUN_MS = 120_000;
const AT_ONCE = 8;

const path = (file) => fileURLToPath(new URL(file, import.meta.url));

async function run(client, scenario) {
  const server = fork(path("loss/loss-server.mjs"), [scenario]);
  const serverSays = () => new Promise((resolve) => server.once("message", resolve));
  const { port } = await serverSays();
  const { endsByItself = false } = SCENARIOS[scenario];
  const child = fork(path("loss/loss-run.mjs"), [client, `http://127.0.0.1:${port}`, String(endsByItself)], {
    stdio: "ignore",
  });
  let report = { told: [], unhandled: 0 };
  child.on("message", (message) => {
    report = { ...report, ...message };
  });
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    child.kill("SIGKILL");
  }, LONGEST_RUN_MS);
  const code = await new Promise((resolve) => child.on("exit", resolve));
  clearTimeout(timer);
  const answer = serverSays();
  server.send("totals");
  const { numbers, twice } = await answer;
  server.disconnect();

  const arrived = new Set(numbers);
  const told = report.told.filter((number) => number !== "unknown");
  const toldOnce = new Set(told);
  const silent = Array.from({ length: 1_000 }, (_, number) => number).filter(
    (number) => !arrived.has(number) && !toldOnce.has(number),
  );
  return {
    arrived: arrived.size,
    twice,
    told: told.length,
    toldThoughArrived: told.filter((number) => arrived.has(number)).length,
    vague: report.told.length - told.length,
    silent: silent.length,
    repeated: told.length - toldOnce.size,
    unhandled: report.unhandled,
    ended: timedOut ? "hung" : code === 0 ? "0" : String(code),
    closeMs: report.closeMs,
  };
}

function cell({
  arrived,
  told,
  vague,
  silent,
  twice,
  toldThoughArrived,
  repeated,
  unhandled,
  ended,
  closeMs,
}) {
  const parts = [`${arrived} arrived`];
  if (told > 0) parts.push(`${told} told lost`);
  if (toldThoughArrived > 0) parts.push(`${toldThoughArrived} of them arrived`);
  if (repeated > 0) parts.push(`${repeated} told again`);
  if (vague > 0) parts.push(`${vague} errors without their messages`);
  if (silent > 0) parts.push(`**${silent} lost in silence**`);
  if (twice > 0) parts.push(`${twice} sent twice`);
  if (unhandled > 0) parts.push(`**${unhandled} unhandled rejections**`);
  if (ended === "hung") parts.push("**did not end in 120 s**");
  else if (ended !== "0") parts.push(`**exit code ${ended}**`);
  if (closeMs !== undefined) parts.push(`close ${(closeMs / 1_000).toFixed(1)} s`);
  return parts.join(", ");
}

const jobs = Object.keys(SCENARIOS).flatMap((scenario) =>
  Object.entries(CLIENTS).map(([name, client]) => ({ scenario, name, client })),
);
const results = new Map();
const next = jobs.values();
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (const { scenario, name, client } of next)
      results.set(`${scenario}|${name}`, await run(client, scenario));
  }),
);

const names = Object.keys(CLIENTS);
const table = [
  `| 1,000 messages | ${names.join(" | ")} |`,
  `|---|${names.map(() => "---|").join("")}`,
  ...Object.keys(SCENARIOS).map(
    (scenario) =>
      `| ${scenario} | ${names.map((name) => cell(results.get(`${scenario}|${name}`))).join(" | ")} |`,
  ),
].join("\n");
console.log(table);

const ours = Object.keys(SCENARIOS).map((scenario) => results.get(`${scenario}|@sluice/node`));
const honest = ours.every(
  ({ silent, repeated, unhandled, toldThoughArrived, ended }) =>
    silent + repeated + unhandled + toldThoughArrived === 0 && ended === "0",
);
process.exitCode = honest ? 0 : 1;

if (values.write) {
  const page = new URL("../../docs/reference/loss-table.md", import.meta.url);
  const text = await readFile(page, "utf8");
  await writeFile(page, text.replace(/(<!-- table -->\n)[\s\S]*?(\n<!-- end -->)/, `$1\n${table}\n$2`));
}
