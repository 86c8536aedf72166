/**
 * The benches of `npm run bench`: the script, and its arguments for one round. Rounds are short, because the runner repeats them; each
 * script's head says what a longer run by hand can do. `isSource` marks scripts that import sources instead of what was built.
 */
export const BENCHES = {
  sdk: {
    title: "SDK, compared with the public SDKs",
    script: "sdk/main.mjs",
    args: ["--rounds", "1", "--runs", "1"],
    short: ["--rounds", "1", "--runs", "1", "--own"],
  },
  ingestion: {
    title: "Ingestion",
    script: "collector/ingest.bench.mjs",
    args: ["--seconds", "2", "--rounds", "1", "--runs", "1"],
    short: ["--seconds", "1", "--rounds", "1", "--runs", "1"],
  },
  delivery: {
    title: "Delivery of a backlog",
    script: "collector/delivery.bench.mjs",
    args: ["50000", "1"],
    short: ["10000", "1"],
  },
  "end-to-end": {
    title: "From request to receipt",
    script: "collector/end-to-end.bench.mjs",
    args: ["--seconds", "3"],
    short: ["--seconds", "1"],
  },
  workers: {
    title: "Threads that deliver",
    script: "collector/workers.bench.mjs",
    args: ["--seconds", "4"],
    short: ["--seconds", "1", "--workers", "1,2"],
  },
  latency: {
    title: "Latency from request to receipt",
    script: "collector/latency.bench.mjs",
    args: ["500", "5"],
    short: ["500", "2"],
  },
  isolation: {
    title: "Isolation: one of ten destinations hangs",
    script: "collector/isolation.bench.mjs",
    args: ["hang", "1", "2", "3"],
    short: ["hang", "1", "1", "1"],
  },
  audiences: {
    title: "Audiences: 100 audiences, 50,000 profiles",
    script: "collector/audiences.bench.ts",
    args: ["--profiles", "50000"],
    short: ["--profiles", "5000"],
    isSource: true,
  },
  transformations: {
    title: "Transformations: CPU time of a message of 690 bytes",
    script: "transformations.bench.mjs",
    args: ["4000"],
    short: ["1000"],
  },
  memory: {
    title: "Memory with ten unreachable destinations",
    script: "collector/memory.bench.mjs",
    args: ["dead", "2000", "8"],
    short: ["dead", "2000", "2"],
  },
  "scale-out": {
    title: "A cluster of three collectors, compared with one collector",
    script: "collector/scale-out.bench.mjs",
    args: ["--seconds", "3", "--takeovers", "1", "--rounds", "1"],
    short: ["--seconds", "1", "--rate", "2000", "--takeovers", "1", "--rounds", "1"],
  },
  restart: {
    title: "Restart with 100,000 messages queued",
    script: "collector/restart.bench.mjs",
    args: ["--messages", "100000", "--rounds", "1"],
    short: ["--messages", "10000", "--rounds", "1"],
  },
  start: {
    title: "Start, cold and with 100,000 messages queued",
    script: "collector/start.bench.mjs",
    args: ["--messages", "100000", "--rounds", "3"],
    short: ["--messages", "10000", "--rounds", "1"],
  },
  live: {
    title: "Live stream: ingestion with three readers",
    script: "collector/live.bench.mjs",
    args: ["3", "1", "4000"],
    short: ["3", "1", "1000"],
  },
  import: {
    title: "Import of files",
    script: "collector/import.bench.mjs",
    args: ["20000"],
    short: ["2000"],
  },
  destinations: {
    title: "Packages of destinations, beside the client alone",
    script: "collector/destinations.bench.mjs",
    args: ["5"],
    short: ["1"],
    isSource: true,
  },
};
