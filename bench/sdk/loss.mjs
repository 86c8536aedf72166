/**
 * How many of 1,000 messages arrive when something fails, with our SDK and the public ones: `node bench/sdk/loss.mjs [--write]`.
 * Exits with 1 if our SDK loses a message without reporting it exactly once, or leaves a rejection unhandled.
 */
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { writeMeasured } from "../measured.mjs";
import { peersAreInstalled } from "./cpu.mjs";
import { SCENARIOS } from "./loss/scenarios.mjs";

const { values } = parseArgs({ options: { write: { type: "boolean" } } });
if (values.write && !peersAreInstalled) {
  console.error("--write would remove the public SDKs from the page: install them first, see README.md.");
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
  let outcome = { reported: [], unhandled: 0 };
  child.on("message", (message) => {
    outcome = { ...outcome, ...message };
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
  const reported = outcome.reported.filter((number) => number !== "unknown");
  const reportedNumbers = new Set(reported);
  const silent = Array.from({ length: 1_000 }, (_, number) => number).filter(
    (number) => !arrived.has(number) && !reportedNumbers.has(number),
  );
  return {
    arrived: arrived.size,
    twice,
    reported: reported.length,
    reportedButArrived: reported.filter((number) => arrived.has(number)).length,
    unknown: outcome.reported.length - reported.length,
    silent: silent.length,
    repeated: reported.length - reportedNumbers.size,
    unhandled: outcome.unhandled,
    ended: timedOut ? "hung" : code === 0 ? "0" : String(code),
    closeMs: outcome.closeMs,
  };
}

function cell({
  arrived,
  reported,
  unknown,
  silent,
  twice,
  reportedButArrived,
  repeated,
  unhandled,
  ended,
  closeMs,
}) {
  const parts = [`${arrived} arrived`];
  if (reported > 0) parts.push(`${reported} reported lost`);
  if (reportedButArrived > 0) parts.push(`${reportedButArrived} of them arrived`);
  if (repeated > 0) parts.push(`${repeated} reported again`);
  if (unknown > 0) parts.push(`${unknown} errors without their messages`);
  if (silent > 0) parts.push(`**${silent} lost silently**`);
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
  ({ silent, repeated, unhandled, reportedButArrived, ended }) =>
    silent + repeated + unhandled + reportedButArrived === 0 && ended === "0",
);
process.exitCode = honest ? 0 : 1;

if (values.write) writeMeasured("losses", table);
