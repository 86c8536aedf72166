import { type AdminClient, AdminError } from "@sluice/admin-client";
import type { AudienceEngineView, CollectorInfo, ProblemsView } from "@sluice/control-api";
import manifest from "../../../package.json" with { type: "json" };
import { definedFields, durationText } from "../../arguments.js";
import { type ConnectionOptions, connect } from "../../connection/connection.js";
import { CommandFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import { plural, shellWord } from "../../terminal/style.js";
import { bytesText } from "../run/backup.js";
import type { Check } from "./check.js";
import { checkDestinations } from "./destination-checks.js";
import { checkFreeSpace } from "./machine-checks.js";

/** Wrong keys to name. */
const NAMED_KEYS = 3;

/** Refused requests by code, and open incidents: the same that the dashboard shows. */
function checkProblems(problems: ProblemsView): Check[] {
  return [...refusedRequests(problems), ...openIncidents(problems)];
}

function refusedRequests({ refusedRequests: refused, wrongKeys }: ProblemsView): Check[] {
  const name = "refused";
  if (refused.length === 0)
    return [{ name, result: "ok", message: "no request was refused in the last hour" }];
  return refused.map(({ code, status, requests, lastAt }) => {
    const when = lastAt === undefined ? "" : `, last at ${lastAt}`;
    const message = `${plural(requests, "request", "requests")} refused with ${status} ${code} in the last hour${when}`;
    const hint = code === "invalid_write_key" ? wrongKeysText(wrongKeys) : "";
    return { name, result: "warning", message, ...(hint === "" ? {} : { hint }) };
  });
}

function wrongKeysText(keys: ProblemsView["wrongKeys"]): string {
  return keys
    .slice(0, NAMED_KEYS)
    .map(({ keyPrefix, address, client = "unknown client", requests }) => {
      const key = keyPrefix === undefined ? "without a key" : `with ${keyPrefix}…`;
      return `${requests} ${key} from ${address} (${client})`;
    })
    .join("; ");
}

function openIncidents({ incidents }: ProblemsView): Check[] {
  return incidents.map(({ title, since, detail }) => ({
    name: "incident",
    result: "problem",
    message: `${title}, since ${since}`,
    hint: detail,
  }));
}

/** The checks that ask the control API: token, version, clock, storage, audiences and destinations. */
export async function checkCollector(options: ConnectionOptions, url: string, io: Io): Promise<Check[]> {
  let client: AdminClient;
  try {
    client = await connect(options, io);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const { message, hint } = error;
    return [{ name: "token", result: "skipped", message, ...definedFields({ hint }) }];
  }
  const sentMs = io.now();
  let info: CollectorInfo;
  try {
    info = await client.info();
  } catch (error) {
    return [tokenProblem(error, url)];
  }
  const receivedMs = io.now();
  return [
    { name: "token", result: "ok", message: `${info.token.name}, ${info.token.access} access` },
    checkVersions(info.version, manifest.version),
    checkClock(Date.parse(info.now), sentMs, receivedMs),
    checkStorage(info.storage),
    ...checkDisk(info.disk),
    ...(await orProblem("refused", async () => checkProblems(await client.problems()))),
    checkLimits(info.limits),
    ...(await orProblem("audiences", async () => [checkAudiences(await client.audiences.engine())])),
    ...(await orProblem("destination", () => checkDestinations(client))),
  ];
}

/** The checks, or that they could not be made: a collector that cannot read its store still answers the others. */
async function orProblem(name: string, make: () => Promise<Check[]>): Promise<Check[]> {
  try {
    return await make();
  } catch (error) {
    return [{ name, result: "problem", message: error instanceof Error ? error.message : String(error) }];
  }
}

function tokenProblem(error: unknown, url: string): Check {
  if (error instanceof AdminError && error.status === 404)
    return {
      name: "token",
      result: "problem",
      message: `there is no control API at ${url}`,
      hint: "The collector has another address for it (adminListen): give it with SLUICE_ADMIN_URL",
    };
  if (error instanceof AdminError && error.status === 401)
    return {
      name: "token",
      result: "problem",
      message: "the collector does not know this admin token",
      hint: "`npx sluice dev` prints its token; in production it is SLUICE_ADMIN_TOKEN, or the file admin-token in the data folder",
    };
  const message = error instanceof Error ? error.message : String(error);
  return { name: "token", result: "problem", message };
}

export function checkVersions(collector: string, cli: string): Check {
  const isSame = collector.split(".")[0] === cli.split(".")[0];
  const message = `collector ${collector}, command line ${cli}`;
  return isSame
    ? { name: "version", result: "ok", message }
    : { name: "version", result: "warning", message, hint: "Use the same major version of both" };
}

/** With a larger difference, the collector corrects the time of every message. */
const MAX_SKEW_MS = 5_000;

/** Compares the collector's clock with ours. The result can be wrong by half the round trip. */
export function checkClock(collectorMs: number, sentMs: number, receivedMs: number): Check {
  const skewMs = collectorMs - (sentMs + receivedMs) / 2;
  const isOff = Math.abs(skewMs) > MAX_SKEW_MS + (receivedMs - sentMs) / 2;
  const message = `the collector's clock is ${Math.abs(Math.round(skewMs))} ms ${skewMs < 0 ? "behind" : "ahead of"} this one`;
  return isOff
    ? {
        name: "clock",
        result: "problem",
        message,
        hint: "Synchronize both with NTP: the collector corrects message times by the difference",
      }
    : { name: "clock", result: "ok", message };
}

function checkStorage(storage: CollectorInfo["storage"]): Check {
  if (storage.kind === "ready") return { name: "storage", result: "ok", message: "ready" };
  return {
    name: "storage",
    result: "problem",
    message: `not writable since ${storage.since}: ${storage.reason}`,
    hint: "Check the disk and see the collector's log",
  };
}

/** The disk of the collector, which may be on another machine. Undefined: the collector cannot read its free space. */
export function checkDisk(disk: CollectorInfo["disk"]): Check[] {
  if (disk === undefined) return [];
  return [checkFreeSpace(disk.freeBytes, "on the collector's disk", disk.lowBelowBytes)];
}

/** Says which limits are in force. Without retention the disk fills, sooner or later. */
export function checkLimits({
  retentionMs,
  retentionBytes,
  messagesPerSecond,
}: CollectorInfo["limits"]): Check {
  const name = "limits";
  const kept = [
    ...(retentionMs === undefined ? [] : [durationText(retentionMs)]),
    ...(retentionBytes === undefined ? [] : [bytesText(retentionBytes)]),
  ];
  const rates = Object.entries(messagesPerSecond).map(([kind, rate]) => `${kind} ${rate}/s`);
  const rate = rates.length === 0 ? "no rate limits" : `a source may send: ${rates.join(", ")}`;
  if (kept.length > 0)
    return { name, result: "ok", message: `messages are kept for at most ${kept.join(" or ")}; ${rate}` };
  return {
    name,
    result: "warning",
    message: `messages are kept forever; ${rate}`,
    hint: "The disk fills sooner or later: set retentionMs and retentionBytes",
  };
}

/** Reports messages that audiences leave out because evaluating them failed repeatedly. */
export function checkAudiences({ behind, setAside }: AudienceEngineView): Check {
  const name = "audiences";
  const [first] = setAside;
  if (first === undefined) {
    const message =
      behind === 0 ? "all messages are evaluated" : `${plural(behind, "message", "messages")} behind`;
    return { name, result: "ok", message };
  }
  const { messageId, sourceId } = first;
  const messages = setAside.reduce((sum, one) => sum + one.messages, 0);
  const which = messageId === undefined ? "an unreadable request" : `message ${messageId}`;
  const hint =
    "Destinations still get these messages. Report the error in the collector's log, together with the message";
  return {
    name,
    result: "problem",
    message: `${plural(messages, "message was", "messages were")} left out because evaluating failed, first ${which} of source ${sourceId}`,
    hint: messageId === undefined ? hint : `${hint}: npx sluice messages get ${shellWord(messageId)}`,
  };
}
