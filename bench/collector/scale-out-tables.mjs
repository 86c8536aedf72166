/** What `scale-out.bench.mjs` measured, as figures and as a table. */
import { combineRounds } from "../figures.mjs";

const KINDS = {
  client: "client",
  collector: "owner",
  followers: "two followers",
  servers: "three NATS servers",
};
const LOADS = { accepted: "accepted", e2e: "end to end" };

const cpuName = (load, kind) => `CPU a message, ${LOADS[load]}: ${KINDS[kind]}`;

function figure(name, unit, cluster, alone) {
  if (alone === undefined) return { name, unit, ours: cluster };
  return { name, unit, ours: cluster, peer: alone, peerName: "one collector" };
}

/** The figures of one round. Processes that a collector on its own does not have are not compared. */
export function figuresOf({ one, three, took, rate, latencyRate }) {
  const cpu = Object.keys(LOADS).flatMap((load) =>
    Object.keys(KINDS).map((kind) =>
      figure(cpuName(load, kind), "µs", three[load].cpu[kind], one[load].cpu[kind]),
    ),
  );
  return [
    figure("accepted, batches of 100", "messages/s", three.accepted.perSecond, one.accepted.perSecond),
    figure("accepted through a follower", "messages/s", three.passed.perSecond, one.accepted.perSecond),
    figure(`p50 of a batch at ${latencyRate} a second`, "ms", three.p50Ms, one.p50Ms),
    figure(`p99 of a batch at ${latencyRate} a second`, "ms", three.p99Ms, one.p99Ms),
    figure("added latency, p50", "ms", three.p50Ms - one.p50Ms),
    figure(`end to end at ${rate} a second`, "messages/s", three.e2e.perSecond, one.e2e.perSecond),
    figure(`p50 from request to receipt at ${latencyRate} a second`, "ms", three.receiptMs, one.receiptMs),
    ...cpu,
    figure("takeover after kill -9 of the owner", "ms", took.killed),
    figure("takeover after an orderly stop of the owner", "ms", took.stopped),
  ];
}

function number(value) {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function row({ name, unit, ours, peer, ratio }) {
  const alone = peer === undefined ? "" : `${number(peer)} ${unit}`;
  return `| ${name} | ${alone} | ${number(ours)} ${unit} | ${ratio === undefined ? "" : ratio.toFixed(2)} |`;
}

/** All figures, and their table. */
export function tables(rounds) {
  const figures = combineRounds(rounds);
  const text = [
    "| what | one collector | cluster | ratio |",
    "| --- | --- | --- | --- |",
    ...figures.map(row),
  ];
  return { figures, text: text.join("\n") };
}
