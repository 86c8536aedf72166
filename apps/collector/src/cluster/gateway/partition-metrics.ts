import { metricsRoute } from "../../http/health-routes.js";
import type { Route } from "../../http/routing/route.js";
import type { Metrics } from "../../process/telemetry/metrics.js";
import type { StandingParts } from "./front-routing.js";

/** `/metrics` of a process of several partitions: its own, and those of the collectors that run in it with a label `partition`. */
export function metricsOfPartitions(own: Metrics, standing: StandingParts): Route {
  return metricsRoute({
    ...own,
    async render() {
      const several = standing.several?.metrics ?? new Map<number, Metrics>();
      const parts = await Promise.all(
        [...several].map(async ([partition, metrics]) => ({ partition, text: await metrics.render() })),
      );
      return joinMetrics(await own.render(), parts);
    },
  });
}

interface Family {
  readonly head: string[];
  readonly samples: string[];
}

/** Metrics of the process itself, which each collector shows too. */
const OF_PROCESS = /^(?:process_|nodejs_)/;
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (.*)$/;

/** Texts in Prometheus' format as one: each metric has one head, and its samples stand together. */
export function joinMetrics(
  own: string,
  parts: readonly { readonly partition: number; readonly text: string }[],
): string {
  const families = new Map<string, Family>();
  addFamilies(families, own, undefined);
  for (const { partition, text } of parts) addFamilies(families, text, partition);
  return `${[...families.values()].flatMap(({ head, samples }) => [...head, ...samples]).join("\n")}\n`;
}

function addFamilies(families: Map<string, Family>, text: string, partition: number | undefined): void {
  const known = new Set(families.keys());
  for (const { name, line, isHead } of linesOf(text)) {
    if (partition !== undefined && OF_PROCESS.test(name)) continue;
    const family = families.get(name) ?? { head: [], samples: [] };
    families.set(name, family);
    if (!isHead) family.samples.push(partition === undefined ? line : labelled(line, partition));
    else if (!known.has(name)) family.head.push(line);
  }
}

/** The lines of a text with the name of the metric that each belongs to. */
function* linesOf(text: string): Generator<{ name: string; line: string; isHead: boolean }> {
  let name = "";
  for (const line of text.split("\n")) {
    const isHead = line.startsWith("# ");
    if (isHead) name = line.split(" ", 3)[2] ?? "";
    if (line !== "") yield { name, line, isHead };
  }
}

function labelled(line: string, partition: number): string {
  const match = SAMPLE.exec(line);
  if (match === null) return line;
  const [, name, labels, value] = match;
  const more = labels === undefined || labels === "" ? "" : `,${labels}`;
  return `${name}{partition="${partition}"${more}} ${value}`;
}
