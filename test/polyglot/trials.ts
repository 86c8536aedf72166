import { until } from "../chaos/until.ts";
import { differencesOf } from "./calls.ts";
import type { Client } from "./clients.ts";
import { type Front, startFront, type Trouble } from "./front.ts";
import { changesOnTheWay, withTimesAsGiven } from "./passed-on.ts";
import { type Sender, startSender } from "./sender.ts";
import type { Received, World } from "./world.ts";

const RETRY_AFTER_S = 2;
/** A client that keeps to `Retry-After` is back within this, also on a busy machine. Longer waits are the client's own. */
const LATEST_MS = 10_000;
/** Java's clients wait up to 30 s after the first attempt, 60 s after the second, and two minutes after the third. */
const WAIT_MS = 240_000;
/** For the collector, in bytes. */
const TOO_LARGE = 40_000;

interface Trial {
  /** Messages; without it, one of each call type. */
  readonly count?: number;
  readonly size?: number;
  readonly trouble?: Trouble;
  readonly isKeyWrong?: boolean;
  /** Turns compression on, where it is an option. */
  readonly isGzip?: boolean;
  /** Closes the client while its messages are still queued. */
  readonly isClosedAtOnce?: boolean;
  /** The collector is down when the client first sends. */
  readonly isRestart?: boolean;
  /** Before the others, a message is sent that is too large for the collector. */
  readonly isFirstTooLarge?: boolean;
  /** With the setting of the guide. */
  readonly isHelped?: boolean;
  /** It shows no fault that another does not, so it is only run with a setting. */
  readonly isOnlyHelped?: boolean;
}

const FOREVER = 1e9;
const forever = (status: number): Trouble => ({ status, times: FOREVER });
const once = (status: number): Trouble => ({ status, retryAfter: RETRY_AFTER_S, times: 1 });

const TRIALS = {
  calls: {},
  batches: { count: 300, size: 10, isGzip: true, isClosedAtOnce: true },
  large: { count: 50, size: 31_000 },
  tooLarge: { count: 1, size: TOO_LARGE, isClosedAtOnce: true },
  afterTooLarge: { count: 5, isFirstTooLarge: true, isClosedAtOnce: true },
  wrongKey: { count: 1, isKeyWrong: true },
  status400: { count: 1, trouble: forever(400) },
  status413: { count: 1, trouble: forever(413) },
  status429: { count: 1, trouble: once(429) },
  status429Again: { count: 1, trouble: once(429) },
  status503: { count: 1, trouble: once(503) },
  closedInTrouble: { count: 1, trouble: { status: 503, times: 1 }, isClosedAtOnce: true },
  restart: { count: 1, isRestart: true },
  // Beyond the retries of a client that has few.
  outage: { count: 1, trouble: { status: 503, times: 6 }, isOnlyHelped: true },
} as const satisfies Record<string, Trial>;
export type TrialName = keyof typeof TRIALS;

/** The trials of a client, by name, with those that are repeated with a setting of the guide. */
function trialsOf({ helps = {} }: Client): [name: string, trial: Trial][] {
  const helped = (Object.keys(helps) as TrialName[]).map((name): [string, Trial] => [
    `${name}.helped`,
    { ...TRIALS[name], isHelped: true },
  ]);
  const all: [string, Trial][] = Object.entries(TRIALS);
  return [...all.filter(([, { isOnlyHelped }]) => isOnlyHelped !== true), ...helped];
}

/** How many of the trials of these clients wait for the collector that is stopped and started. */
export const restartsOf = (clients: readonly Client[]): number =>
  clients.flatMap(trialsOf).filter(([, { isRestart }]) => isRestart).length;

/** What one client did in all trials. */
export interface Findings {
  readonly calls: readonly Received[];
  /** What the collector took and passed on with a change, in all trials. */
  readonly changedOnTheWay: readonly string[];
  /** Whether its messages have ids of their own. */
  readonly sendsIds: boolean;
  /** Whether a retry says that it was sent when the first attempt was. */
  readonly keepsSentAt: boolean;
  /** Whether it invents an anonymous id for each message of a known user. */
  readonly makesUpIds: boolean;
  readonly isGzipDefault: boolean;
  readonly isGzipOption: boolean;
  readonly largestBatch: number;
  readonly doesCloseSend: boolean;
  readonly doLargeArrive: boolean;
  readonly tooLarge: "the client refuses it" | "the collector refuses it" | "it is lost";
  /** Whether messages arrive that are sent after one that is too large. */
  readonly doOthersArrive: boolean;
  readonly onWrongKey: Refusal;
  readonly on400: Refusal;
  readonly on413: Refusal;
  readonly on429: Retry;
  readonly on503: Retry;
  readonly afterRestart: "delivers" | "loses";
  readonly closedInTrouble: "delivers" | "loses";
  /** The trials that go well with a setting of the guide. */
  readonly helped: readonly TrialName[];
}
type Refusal = "drops and reports" | "drops silently" | "retries";
type Retry = "waits as told" | "retries at its own pace" | "drops";

interface Run {
  readonly front: Front;
  readonly failures: () => readonly string[];
}

/** How many of a front's messages the collector has stored. */
const acceptedBy = ({ exchanges }: Front): number =>
  exchanges.reduce((sum, { accepted }) => sum + accepted, 0);

/** For a person who wonders what a client waits for. */
const historyOf = ({ front: { exchanges }, failures }: Run): string =>
  [...exchanges.map(({ status, atMs }) => `${status} ${new Date(atMs).toISOString()}`), ...failures()].join(
    ", ",
  );

/** How many messages a client without a way to report it drops: it got a refusal, or no answer. */
const refusedBy = ({ exchanges }: Front): number =>
  exchanges.reduce((sum, { status, sent }) => sum + (status !== 200 && status < 500 ? sent.length : 0), 0);

function isDecided(trial: Trial, { front, failures }: Run, { calls, isSilent = false }: Client): boolean {
  const refused = front.exchanges.filter(({ status, rejected }) => rejected.length > 0 || status >= 400);
  const isHopeless = trial.isKeyWrong === true || trial.trouble?.times === FOREVER;
  const ended = acceptedBy(front) + (isSilent ? refusedBy(front) : 0);
  if (ended >= (trial.count ?? calls)) return true;
  return (
    failures().length > 0 ||
    (isHopeless && refused.length >= 2) ||
    refused.some(({ rejected }) => rejected.length > 0)
  );
}

/** All trials of a client, side by side in one program. `sleeper` is the collector that is stopped and started. */
export async function tryClient(
  client: Client,
  world: World,
  sleeper: World,
  collectorIsBack: (whenRefused: Promise<void>) => Promise<void>,
): Promise<Findings> {
  const sender = startSender(client.command);
  const runs: Record<string, Run> = {};
  try {
    await Promise.all(
      trialsOf(client).map(async ([name, trial]) => {
        const run = await startTrial(sender, client, name, trial, trial.isRestart ? sleeper : world);
        runs[name] = run;
        if (trial.isRestart)
          await collectorIsBack(until(`${client.id} tries`, () => run.front.exchanges.length > 0, WAIT_MS));
        if (trial.isClosedAtOnce !== true)
          await until(`${client.id} ends ${name}`, () => isDecided(trial, run, client), WAIT_MS).catch(
            (error: Error) => {
              throw new Error(`${error.message}: ${historyOf(run)}`);
            },
          );
        sender.command("close", name);
        await until(`${client.id} closes ${name}`, () => sender.isClosed(name), WAIT_MS);
      }),
    );
    await sender.end();
    const arrived = new Map<string, readonly Received[]>();
    for (const [name, run] of Object.entries(runs))
      arrived.set(name, await arrivedIn(client, name, name.startsWith("restart") ? sleeper : world, run));
    const callsOf = (name: string) =>
      withTimesAsGiven(runs[name]?.front.exchanges ?? [], arrived.get(name) ?? []);
    return {
      ...findingsOf(runs as Record<TrialName, Run>, callsOf("calls")),
      changedOnTheWay: Object.entries(runs).flatMap(([name, run]) =>
        changesOnTheWay(client, run.front.exchanges, arrived.get(name) ?? []).map(
          (change) => `${name}: ${change}`,
        ),
      ),
      helped: helpedOf(client, runs, callsOf("calls.helped")),
    };
  } finally {
    for (const { front } of Object.values(runs)) front.close();
    sender.kill();
  }
}

async function startTrial(
  sender: Sender,
  client: Client,
  name: string,
  trial: Trial,
  { url, writeKey }: World,
): Promise<Run> {
  const front = await startFront(url, trial.trouble);
  const key = trial.isKeyWrong ? "wk_nobody" : writeKey;
  sender.command("open", name, front.url, key, trial.isHelped ? "helped" : trial.isGzip ? "gzip" : "-");
  const user = userOf(client, name);
  if (trial.isFirstTooLarge) sender.command("many", name, user, 1, TOO_LARGE);
  if (trial.count === undefined) sender.command("calls", name, user);
  else sender.command("many", name, user, trial.count, trial.size ?? 1);
  return { front, failures: () => sender.failures(name) };
}

/** The user of a trial's messages. */
export const userOf = ({ id }: Client, name: string): string => `${id}.${name}`;

async function arrivedIn(
  client: Client,
  name: string,
  world: World,
  { front }: Run,
): Promise<readonly Received[]> {
  const received = () => world.received(userOf(client, name));
  await until(
    `${client.id}'s messages of ${name} arrive`,
    () => received().length >= acceptedBy(front),
    WAIT_MS,
  );
  return received();
}

/** The trials of `helps` in which everything arrives as it was given. */
function helpedOf(
  client: Client,
  runs: Readonly<Record<string, Run>>,
  calls: readonly Received[],
): TrialName[] {
  return (Object.keys(client.helps ?? {}) as TrialName[]).filter((name) => {
    const run = runs[`${name}.helped`] as Run;
    if (name === "status429" && waitOf(run.front) < RETRY_AFTER_S * 1_000) return false;
    if (name === "batches" && !sendsIds(run)) return false;
    if (name !== "calls") return acceptedBy(run.front) >= TRIALS[name].count;
    const user = userOf(client, "calls.helped");
    const areGivenIds = calls.every(({ anonymousId = user }) => anonymousId === user);
    return areGivenIds && differencesOf(client, user, calls).length === 0;
  });
}

function findingsOf(
  runs: Readonly<Record<TrialName, Run>>,
  calls: readonly Received[],
): Omit<Findings, "helped" | "changedOnTheWay"> {
  const isComplete = (name: "batches" | "large" | "afterTooLarge" | "closedInTrouble" | "restart") =>
    acceptedBy(runs[name].front) >= TRIALS[name].count;
  const arrives = (isSo: boolean) => (isSo ? "delivers" : "loses");
  const waits = [runs.status429, runs.status429Again, runs.status503].map(({ front }) => waitOf(front));
  const isPatient = waits.every((ms) => ms >= RETRY_AFTER_S * 1_000 && ms < LATEST_MS);
  const retry = (run: Run): Retry => {
    if (acceptedBy(run.front) === 0) return "drops";
    return isPatient ? "waits as told" : "retries at its own pace";
  };
  return {
    calls,
    sendsIds: sendsIds(runs.calls),
    keepsSentAt: runs.status503.front.exchanges.some(
      ({ sentAt }, index, all) => sentAt !== undefined && sentAt === all[index - 1]?.sentAt,
    ),
    makesUpIds: calls.some(({ userId, anonymousId }) => userId !== undefined && anonymousId !== undefined),
    isGzipDefault: runs.calls.front.exchanges.some(({ isGzip }) => isGzip),
    isGzipOption: runs.batches.front.exchanges.some(({ isGzip }) => isGzip),
    largestBatch: Math.max(...runs.batches.front.exchanges.map(({ sent }) => sent.length)),
    doesCloseSend: isComplete("batches"),
    doLargeArrive: isComplete("large"),
    tooLarge: fateOfTooLarge(runs.tooLarge),
    doOthersArrive: isComplete("afterTooLarge"),
    onWrongKey: refusalOf(runs.wrongKey),
    on400: refusalOf(runs.status400),
    on413: refusalOf(runs.status413),
    on429: retry(runs.status429),
    on503: retry(runs.status503),
    afterRestart: arrives(isComplete("restart")),
    closedInTrouble: arrives(isComplete("closedInTrouble")),
  };
}

const sendsIds = ({ front }: Run): boolean =>
  front.exchanges.flatMap(({ sent }) => sent).every(({ messageId, uuid }) => Boolean(messageId ?? uuid));

function waitOf({ exchanges: [first, second] }: Front): number {
  return first === undefined || second === undefined ? 0 : second.atMs - first.atMs;
}

function refusalOf({ front, failures }: Run): Refusal {
  if (front.exchanges.length > 1) return "retries";
  return failures().length > 0 ? "drops and reports" : "drops silently";
}

function fateOfTooLarge({ front, failures }: Run): Findings["tooLarge"] {
  if (front.exchanges.some(({ status, rejected }) => status === 413 || rejected.length > 0))
    return "the collector refuses it";
  return failures().length > 0 ? "the client refuses it" : "it is lost";
}
