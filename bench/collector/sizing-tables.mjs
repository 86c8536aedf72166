/** What `sizing.bench.mjs` measured, as docs/benchmarks.md shows it. */
const MB = 1024 ** 2;
const GB = 1024 ** 3;
const SECONDS_A_DAY = 86_400;
/** Of the example. */
const RATE = 100;
const DAYS = 30;

function rounded(value) {
  return value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 1 : 0 });
}

/** Disk, CPU, memory and open files, and what a rate of messages needs at this cost. */
export function sizingText({ storedMicros, deliveredMicros, diskBytes, peakBytes, files }) {
  const perDay = RATE * SECONDS_A_DAY;
  const dailyGb = (diskBytes * perDay) / GB;
  return [
    "| what | measured |",
    "| --- | --- |",
    `| disk, with indexes, outcomes and profiles | ${rounded((diskBytes * 1e6) / MB)} MB per million messages |`,
    `| CPU without a destination | ${rounded(storedMicros)} s per million messages |`,
    `| CPU with one webhook | ${rounded(deliveredMicros)} s per million messages |`,
    `| memory (RSS) | ${rounded(peakBytes / MB)} MB at most |`,
    `| open files | ${files} at most |`,
    "",
    `${RATE} events a second (${rounded(perDay / 1e6)} million a day) of this size, each sent to one webhook,`,
    `take about ${rounded(dailyGb)} GB of disk a day and ${rounded((RATE * deliveredMicros) / 1e4)} % of a core. ${DAYS} days of them take ${rounded(dailyGb * DAYS)} GB.`,
  ];
}

const times = ({ p50Ms, p99Ms, maxMs }) => `${p50Ms.toFixed(1)} | ${p99Ms.toFixed(1)} | ${maxMs.toFixed(1)}`;
const copied = ({ bytes, ms }) => `${rounded(bytes / MB)} MB in ${(ms / 1_000).toFixed(1)} s`;

/** The latency of requests without and with a backup, and its size. */
export function backupText({ without, during, backup, rate, messages }) {
  return [
    `| ${rate} requests a second | p50, ms | p99, ms | longest, ms |`,
    "| --- | --- | --- | --- |",
    `| without a backup | ${times(without)} |`,
    `| during a backup | ${times(during)} |`,
    "",
    `The backup of ${messages.toLocaleString("en")} messages had ${copied(backup)}.`,
  ];
}
