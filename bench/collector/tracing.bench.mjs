/**
 * What tracing costs: CPU of the whole collector for a message from its request to its delivery, without tracing, with tracing that
 * samples nothing, 1 % and all messages. The four take turns in one run; spans go to an endpoint that drops them.
 *
 *   npm run build && node bench/collector/tracing.bench.mjs [--messages 20000] [--rounds 3] [--write]
 *
 * Prints the table of docs/benchmarks.md; `--write` puts it there.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { median } from "../figures.mjs";
import { measuredText, writeMeasured } from "../measured.mjs";
import { forked } from "./forked.mjs";

const { values: options } = parseArgs({
  options: {
    messages: { type: "string", default: "20000" },
    rounds: { type: "string", default: "3" },
    write: { type: "boolean", default: false },
  },
});
const messages = Number(options.messages);
const rounds = Number(options.rounds);
const load = loadavg();
const here = (name) => new URL(name, import.meta.url);

const otlp = createServer((request, response) => request.resume().on("end", () => response.end())).listen(
  0,
  "127.0.0.1",
);
await once(otlp, "listening");
const endpoint = `http://127.0.0.1:${otlp.address().port}`;
const receiver = forked(here("delivery-receiver.mjs"));
const {
  ports: [port],
} = await receiver.ask({ listen: 1 });

const MODES = [
  { name: "off" },
  { name: "on, no message sampled", share: "0" },
  { name: "on, 1 % sampled", share: "0.01" },
  { name: "on, all messages sampled", share: "1" },
];

async function cpuMicros({ share }) {
  if (share !== undefined) {
    process.env.OTEL_TRACES_SAMPLER = "parentbased_traceidratio";
    process.env.OTEL_TRACES_SAMPLER_ARG = share;
  }
  const collector = forked(here("delivery-collector.mjs"), share === undefined ? [] : [endpoint]);
  await collector.ready;
  await collector.ask({ destinations: [`http://127.0.0.1:${port}/hook`] });
  const before = (await receiver.ask({ report: true })).report[port].accepted;
  // The first messages warm the code up.
  await collector.ask({ append: messages / 4 });
  await receiver.ask({ port, until: before + messages / 4 });
  collector.tell({ mark: true });
  await collector.ask({ append: messages });
  await receiver.ask({ port, until: before + messages / 4 + messages });
  const { cpuSeconds } = await collector.ask({ cpu: true });
  await collector.end();
  return (cpuSeconds * 1e6) / messages;
}

const results = new Map(MODES.map(({ name }) => [name, []]));
for (let round = 0; round < rounds; round++)
  for (const mode of MODES) results.get(mode.name).push(await cpuMicros(mode));
await receiver.end();
otlp.close();

const off = median(results.get(MODES[0].name));
const rows = [...results].map(
  ([name, values]) => `| ${name} | ${median(values).toFixed(1)} | ${(median(values) / off).toFixed(2)} |`,
);
const text = measuredText(["| tracing | CPU a message, µs | ratio |", "| --- | --- | --- |", ...rows], {
  load,
  conditions: `Medians of ${rounds} round${rounds === 1 ? "" : "s"} of ${messages.toLocaleString("en")} messages, which take turns.`,
});
console.log(text);
if (options.write) writeMeasured("tracing", text);
