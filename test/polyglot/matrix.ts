import { join } from "node:path";
import { differencesOf } from "./calls.ts";
import type { Client } from "./clients.ts";
import { type Findings, userOf } from "./trials.ts";

export const PAGE = join(import.meta.dirname, "../../docs/reference/clients.md");

const HEAD = `# Clients in other languages

What other vendors' client libraries do when they send to a collector, and what goes wrong by their
own doing. \`npm run polyglot:install\` builds a small program with each library, set up as its guide
says. \`npm run clients:matrix -- --write\` runs them all against a built collector and writes this
page; the tests run them too, and check what arrives.

For the settings of each client, see [existing clients](../guide/existing-clients.md).
`;

const ARRIVES = `
## What arrives

Every message is compared field by field at a webhook: all call types, Unicode, decimals, integers
beyond 2^53, nested values, and times with a zone, on a machine that is far from UTC.

- **Calls**: the six call types, and the fields that arrive with another value than was given.
- **Batch**: the most messages in a request, of 300 that were sent at once.
- **Up to 32 KB**: whether 50 messages of 31 KB arrive.
- **Above 32 KB**: what happens to a message of 40 KB, which is too large for the collector.
`;

const FAILS = `
## When a request fails

- **401**, **400** and **413**: whether the client gives up, as it should.
- **429** and **503**: what it does if the response says \`Retry-After: 2\`.
- **Restart**: whether a message arrives that was sent ten seconds before the collector was back.
- **Close**: whether a message arrives if the client is closed after the first attempt got a 503.
`;

const FAULTS = `
## Faults of their own

The last column has the settings with which the trials were repeated, and went well. If a retry
keeps the \`sentAt\` of its first attempt for more than five seconds, the collector takes that for a
wrong clock, as Segment does, and the message's time is later by as much.

`;

type Row = readonly [Client, Findings];

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string {
  return [columns, columns.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |\n`).join("");
}

const nameOf = ({ vendor, language }: Client): string => `${vendor}, ${language}`;

/** The whole page, from what a run found. */
export function matrixPage(findings: ReadonlyMap<Client, Findings>): string {
  const rows = [...findings];
  return [
    HEAD,
    "\n",
    table(
      ["client", "package", "version"],
      rows.map(([client]) => [nameOf(client), `\`${client.package}\``, client.version]),
    ),
    ARRIVES,
    "\n",
    table(
      ["client", "calls", "batch", "gzip", "up to 32 KB", "above 32 KB"],
      rows.map((row) => [nameOf(row[0]), ...arrivalsOf(row)]),
    ),
    FAILS,
    "\n",
    table(
      ["client", "401", "400", "413", "429", "503", "restart", "close"],
      rows.map((row) => [nameOf(row[0]), ...failuresOf(row[1])]),
    ),
    FAULTS,
    table(
      ["client", "what it does", "avoided with"],
      rows.map((row) => [nameOf(row[0]), faultsOf(row).join("; ") || "none seen", helpsOf(row)]),
    ),
  ].join("");
}

const changesOf = ([client, { calls }]: Row): string[] =>
  differencesOf(client, userOf(client, "calls"), calls);

function arrivalsOf([client, found]: Row): string[] {
  const changed = changesOf([client, found]);
  return [
    changed.length === 0 ? "all" : `all, except ${changed.map((field) => `\`${field}\``).join(", ")}`,
    String(found.largestBatch),
    found.isGzipDefault ? "by default" : found.isGzipOption ? "an option" : "no",
    found.doLargeArrive ? "all arrive" : "some are lost",
    found.tooLarge,
  ];
}

function failuresOf(found: Findings): string[] {
  const { onWrongKey, on400, on413, on429, on503, afterRestart, closedInTrouble } = found;
  return [onWrongKey, on400, on413, on429, on503, afterRestart, closedInTrouble];
}

function helpsOf([{ helps = {} }, { helped }]: Row): string {
  return (
    helped
      .map((name) => `\`${helps[name]}\``)
      .join(", ")
      .replace("`times with a zone`", "times with a zone") || "–"
  );
}

/** In the order of the columns. */
function faultsOf([client, found]: Row): string[] {
  const retried = [
    found.onWrongKey === "retries" ? ["401"] : [],
    found.on400 === "retries" ? ["400"] : [],
    found.on413 === "retries" ? ["413"] : [],
  ].flat();
  return [
    ...changesOf([client, found]).map((field) => client.changes[field] ?? `changes \`${field}\``),
    ...(found.doLargeArrive ? [] : ["makes batches above 500 KB, which get a 413 and are dropped"]),
    ...(found.tooLarge === "it is lost" ? ["drops a message above 32 KB without a report"] : []),
    ...(found.doOthersArrive ? [] : ["loses the next messages after one above 32 KB"]),
    ...(found.doesCloseSend ? [] : ["drops what is queued when it is closed"]),
    ...(retried.length > 0 ? [`retries a ${retried.join(", a ")}`] : []),
    ...(found.on400 === "drops silently" ? ["drops what is refused without a report"] : []),
    ...(found.on429 === "drops" ? ["drops at a 429"] : []),
    ...(found.on503 === "retries at its own pace" ? ["ignores `Retry-After`"] : []),
    ...(found.afterRestart === "loses" ? ["gives up before the collector is back"] : []),
    ...(found.closedInTrouble === "loses" ? ["drops what is not sent yet when it is closed"] : []),
    ...(found.sendsIds ? [] : ["sends no `messageId`, so a retry can be stored twice"]),
    ...(found.keepsSentAt ? ["keeps the `sentAt` of its first attempt, so retries shift the time"] : []),
    ...(found.makesUpIds ? ["adds a new `anonymousId` to each message that has a user"] : []),
  ];
}
