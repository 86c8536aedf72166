import { type JoiningMessage, type RefusedJoin, storedCursor } from "@sluice/audiences";
import type { Identity, Replica } from "@sluice/event-log";
import type { Clock } from "@sluice/resilience";
import type { ForgottenUsers, SharedProfiles } from "../../audiences/shared-profiles.js";
import type { JoinedIds } from "../../deletions/start-deletions.js";
import { CollectorError } from "../../errors.js";
import type { Front } from "../front/front.js";
import { connectionTo, peerJson } from "../front/peer-json.js";
import {
  type AskedProfiles,
  PROFILES_PATH,
  type ProfileAnswers,
  type ProfileQuestion,
} from "./profile-routes.js";

export interface ProfileCallsParts {
  readonly front: () => Front;
  readonly token: string;
  readonly clock: Clock;
  /** This process's copy of partition 0. */
  readonly control: Pick<Replica, "profileDocuments">;
}

/** How long a call waits for an owner of partition 0, in milliseconds. Calls within a deletion are repeated by it. */
const WAIT_MS = 8_000;
const PAUSE_MS = 100;
/** Users of one call: each may have hundreds of ids. */
const USERS = 50;

/** The profiles in partition 0, for the owner of another partition. `signal`: ends the calls that are under way. */
export function profileCalls(
  parts: ProfileCallsParts,
  partition: number,
  signal: AbortSignal,
): SharedProfiles {
  const ask = <T>(question: ProfileQuestion): Promise<T> =>
    askOwner<T>(parts, { partition, question }, signal);
  return {
    async counted() {
      await ask({ ask: "counted" });
    },
    async identitiesOf(identity, includeAliases) {
      const [found] = await ask<ProfileAnswers["identitiesOf"]>({
        ask: "identitiesOf",
        ...{ identities: [identity], includeAliases },
      });
      return found as ProfileAnswers["identitiesOf"][number];
    },
    async forget(users) {
      const forgotten: ProfileAnswers["forget"][number][] = [];
      for (let index = 0; index < users.length; index += USERS)
        forgotten.push(...(await ask<ProfileAnswers["forget"]>(forgetOf(users.slice(index, index + USERS)))));
      return forgotten;
    },
    async compact() {
      await ask({ ask: "compact" });
    },
    refusedJoins: ({
      message: { type, userId, anonymousId, previousId },
      sourceId,
      offset,
    }: JoiningMessage) =>
      ask<readonly RefusedJoin[]>({
        ask: "refusedJoins",
        message: { message: { type, userId, anonymousId, previousId }, sourceId, offset },
      }),
    async forgetAll() {
      await ask({ ask: "forgetAll" });
    },
    position: async () => storedCursor(await parts.control.profileDocuments(), partition),
  };
}

export type FindJoinedIds = (
  identities: readonly Identity[],
  includeAliases: boolean,
  signal: AbortSignal,
) => Promise<readonly JoinedIds[]>;

/** The ids that belong to others, for a request that all partitions carry out: one of them may remove the profile before another looks. */
export async function joinedIds(
  parts: ProfileCallsParts,
  identities: readonly Identity[],
  includeAliases: boolean,
  signal: AbortSignal,
): Promise<readonly JoinedIds[]> {
  const question = { ask: "identitiesOf", identities, includeAliases } as const;
  const found = await askOwner<ProfileAnswers["identitiesOf"]>(parts, { partition: 0, question }, signal);
  return found.map(({ identities: joined, aliases }, index) => ({
    identity: identities[index] as Identity,
    ...{ identities: joined, aliases },
  }));
}

function forgetOf(users: ForgottenUsers): ProfileQuestion {
  return { ask: "forget", users: users.map(({ identity, identities }) => ({ identity, identities })) };
}

/** Asks the owner of partition 0, and the next one if it is lost: every question may be repeated. */
async function askOwner<T>(parts: ProfileCallsParts, asked: AskedProfiles, signal: AbortSignal): Promise<T> {
  const { front, clock } = parts;
  const deadlineMs = clock.monotonic() + WAIT_MS;
  for (;;) {
    signal.throwIfAborted();
    const result = await askOnce<T>(parts, asked, signal);
    signal.throwIfAborted();
    if (result.kind === "answered") return result.answer;
    if (clock.monotonic() >= deadlineMs) throw new CollectorError("no_owner", result.reason);
    await front().change(PAUSE_MS, signal);
  }
}

type Result<T> =
  | { readonly kind: "answered"; readonly answer: T }
  /** Ask again. */
  | { readonly kind: "away"; readonly reason: string };

async function askOnce<T>(
  { front, token }: ProfileCallsParts,
  asked: AskedProfiles,
  signal: AbortSignal,
): Promise<Result<T>> {
  const connection = connectionTo(front(), 0);
  if (connection === undefined) return { kind: "away", reason: "no process owns partition 0" };
  const answer = await connection.ask(peerJson(PROFILES_PATH, asked, token), signal);
  if (answer.kind !== "answered") return { kind: "away", reason: answer.reason };
  const text = Buffer.from(answer.body).toString("utf8");
  if (answer.status === 200)
    return { kind: "answered", answer: (JSON.parse(text) as { readonly answer: T }).answer };
  const reason = `the owner of partition 0 answered ${answer.status}: ${text}`;
  if (answer.status !== 503) throw new Error(reason);
  return { kind: "away", reason };
}
