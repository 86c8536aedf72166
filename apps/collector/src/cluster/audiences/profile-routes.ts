import type { Audiences, JoiningMessage } from "@sluice/audiences";
import type { Identity } from "@sluice/event-log";
import { type Clock, coalesced } from "@sluice/resilience";
import type { ForgottenUsers } from "../../audiences/shared-profiles.js";
import { CollectorError } from "../../errors.js";
import type { Route } from "../../http/routing/route.js";
import { readPeerJson } from "../front/peer-json.js";

export const PROFILES_PATH = "/cluster/v1/profiles";

/** What the owner of another partition asks the owner of partition 0. See `SharedProfiles`. */
export type ProfileQuestion =
  | { readonly ask: "counted" }
  | {
      readonly ask: "identitiesOf";
      readonly identities: readonly Identity[];
      readonly includeAliases: boolean;
    }
  | { readonly ask: "forget"; readonly users: ForgottenUsers }
  | { readonly ask: "compact" }
  | { readonly ask: "refusedJoins"; readonly message: JoiningMessage }
  | { readonly ask: "forgetAll" };

/** What a process sends. */
export interface AskedProfiles {
  /** Of the partition that asks. */
  readonly partition: number;
  readonly question: ProfileQuestion;
}

export interface ProfileAnswers {
  readonly identitiesOf: readonly Awaited<ReturnType<Audiences["identitiesOf"]>>[];
  readonly forget: Awaited<ReturnType<Audiences["forget"]>>;
}

/** The audiences of partition 0, as far as other partitions ask them. */
export type AskedAudiences = Pick<
  Audiences,
  "counted" | "identitiesOf" | "forget" | "compact" | "refusedJoins" | "reset" | "follow"
>;

/** 50 users with 500 ids each. */
const BODY_BYTES = 32 * 1_024 * 1_024;
/** How long a call waits until the copy of the asking partition has what that partition has. */
const FOLLOW_MS = 10_000;

export interface ProfileRouteParts {
  /** Undefined while this process does not own partition 0. */
  readonly audiences: () => AskedAudiences | undefined;
  readonly clock: Clock;
}

/** Where the owner of partition 0 answers. The front lets only processes of the cluster in. */
export function profileRoute({ audiences, clock }: ProfileRouteParts): Route {
  // A deletion asks in every partition at about the same time: one run serves all that wait.
  const compactions = new WeakMap<AskedAudiences, () => Promise<void>>();
  const compactionOf = (own: AskedAudiences): (() => Promise<void>) => {
    const known = compactions.get(own) ?? coalesced(() => own.compact());
    compactions.set(own, known);
    return known;
  };
  return {
    path: PROFILES_PATH,
    methods: {
      async POST(request) {
        const own = audiences();
        if (own === undefined)
          throw new CollectorError("no_owner", "this process does not own partition 0, or only begins to");
        const { partition, question } = await readPeerJson<AskedProfiles>(request, BODY_BYTES);
        const answer = await answerTo(question, partition, { own, clock, compact: compactionOf(own) });
        return { status: 200, body: { answer } };
      },
    },
  };
}

interface AnswerParts {
  readonly own: AskedAudiences;
  readonly clock: Clock;
  readonly compact: () => Promise<void>;
}

async function answerTo(
  question: ProfileQuestion,
  partition: number,
  { own, clock, compact }: AnswerParts,
): Promise<unknown> {
  switch (question.ask) {
    case "counted":
      return own.counted();
    case "identitiesOf":
      return Promise.all(question.identities.map((one) => own.identitiesOf(one, question.includeAliases)));
    case "forget":
      // What the partition has purged and suppressed must be known, or the profile would be built again from what is not counted yet.
      await followNow(own, partition, clock);
      return own.forget(question.users);
    case "compact":
      return compact();
    case "refusedJoins":
      return own.refusedJoins(question.message, partition);
    case "forgetAll":
      await followNow(own, partition, clock);
      return own.reset(async () => {});
    default:
      return question satisfies never;
  }
}

async function followNow(own: AskedAudiences, partition: number, clock: Clock): Promise<void> {
  const tooLate = new AbortController();
  const cancel = clock.after(FOLLOW_MS, () => tooLate.abort());
  try {
    await own.follow(partition, tooLate.signal);
  } finally {
    cancel();
  }
}
