import { memoryProfileStore, userIdentity } from "@sluice/event-log";
import type { Condition, UncheckedMessage } from "@sluice/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { audiencesNamed, traitsNamed } from "../../src/conditions/evaluate.js";
import type { Definition } from "../../src/definitions/definitions.js";
import {
  computedValue,
  isMember,
  type NaiveComputed,
  type NaiveDefinitions,
  type PastMessage,
  people,
} from "../conditions/naive-evaluator.js";
import { audience, computedTrait } from "../definitions/definitions.js";
import { EngineWorld } from "./engine-world.js";

const EVENTS = ["A", "B", "C"];
const USERS = ["u1", "u2", "u3", "x"];
const ANONYMOUS = ["n1", "n2", "x"];
const TRAITS = ["t1", "t2", "t3"];
const WINDOWS = [1_000, 5_000, 60_000];
const SLOTS = 4;

const scalar = fc.constantFrom<string | number | boolean>(0, 1, 2, 3, "a", "ab", true);
const comparison = fc.oneof(
  fc.record({
    is: fc.constantFrom("equals" as const, "not_equals" as const, "contains" as const),
    value: scalar,
  }),
  fc.record({
    is: fc.constantFrom("less" as const, "greater" as const),
    value: fc.integer({ min: 0, max: 3 }),
  }),
  fc.record({ is: fc.constant("in" as const), value: fc.array(scalar, { minLength: 1, maxLength: 3 }) }),
  fc.record({ is: fc.constant("exists" as const), value: fc.boolean() }),
);
const times = fc.oneof(
  fc.integer({ min: 1, max: 3 }).map((atLeast) => ({ atLeast })),
  fc.integer({ min: 0, max: 3 }).map((atMost) => ({ atMost })),
  fc.integer({ min: 0, max: 3 }).map((exactly) => ({ exactly })),
);
const leaf: fc.Arbitrary<Condition> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom(...TRAITS, "c0", "c1"), comparison)
      .map(([trait, test]) => ({ kind: "trait" as const, trait, ...test })),
  },
  {
    weight: 4,
    arbitrary: fc
      .record({
        event: fc.constantFrom(...EVENTS),
        times,
        withinMs: fc.option(fc.constantFrom(...WINDOWS), { nil: undefined }),
        where: fc.option(
          fc.array(
            fc
              .tuple(fc.constantFrom("p", "q"), comparison)
              .map(([property, test]) => ({ property, ...test })),
            { maxLength: 2 },
          ),
          { nil: undefined },
        ),
      })
      .map(({ event, times: often, withinMs, where }) => ({
        kind: "event" as const,
        event,
        times: often,
        ...(withinMs === undefined ? {} : { withinMs }),
        ...(where === undefined ? {} : { where }),
      })),
  },
  // Only audiences of lower slots are named, so that there are no circles.
  {
    weight: 1,
    arbitrary: fc
      .nat({ max: SLOTS - 1 })
      .map((slot) => ({ kind: "audience" as const, audienceId: `slot${slot}` })),
  },
);
const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    fc.record({
      kind: fc.constantFrom("and" as const, "or" as const),
      conditions: fc.array(tie("condition"), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant("not" as const), condition: tie("condition") }),
  ),
}));

type Action =
  | {
      readonly do: "message";
      readonly message: Omit<PastMessage, "atMs">;
      /** Negative: a client whose clock is ahead. */
      readonly ageMs: number;
      /** How often the client repeats it in the same request. The log skips the repetitions. */
      readonly copies: number;
    }
  /** Deletes a user with everything that is known to be the same user. */
  | { readonly do: "delete"; readonly userId: string }
  | { readonly do: "define"; readonly slot: number; readonly condition: Condition | undefined }
  | {
      readonly do: "compute";
      readonly slot: number;
      readonly computed: Omit<NaiveComputed, "id" | "key"> | undefined;
    }
  | { readonly do: "advance"; readonly ms: number }
  | { readonly do: "restart" }
  /** Messages after it arrive while history is still being read. */
  | { readonly do: "work"; readonly steps: number }
  | { readonly do: "settle" };

const who = fc.oneof(
  fc.record({ userId: fc.constantFrom(...USERS) }),
  fc.record({ anonymousId: fc.constantFrom(...ANONYMOUS) }),
  fc.record({ userId: fc.constantFrom(...USERS), anonymousId: fc.constantFrom(...ANONYMOUS) }),
);
const properties = fc.record(
  { p: fc.constantFrom(0, 1, 2, 3, 0.1, 0.2, 0.7, 1299.3), q: fc.constantFrom("a", "ab", "b") },
  { requiredKeys: [] },
);
const message: fc.Arbitrary<Omit<PastMessage, "atMs">> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc
      .tuple(who, fc.constantFrom(...EVENTS), properties)
      .map(([by, event, of]) => ({ type: "track" as const, ...by, event, properties: of })),
  },
  {
    weight: 3,
    arbitrary: fc
      .tuple(
        who,
        fc.dictionary(fc.constantFrom(...TRAITS), fc.oneof(scalar, fc.constant(null)), {
          noNullPrototype: true,
        }),
      )
      .map(([by, traits]) => ({ type: "identify" as const, ...by, traits })),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...USERS), fc.constantFrom(...USERS, ...ANONYMOUS))
      .map(([userId, previousId]) => ({ type: "alias" as const, userId, previousId })),
  },
);
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      do: fc.constant("message" as const),
      message,
      ageMs: fc.constantFrom(0, 0, 0, 1, 999, 1_000, 4_000, 70_000, -1, -1_000, -6_000),
      copies: fc.constantFrom(0, 0, 0, 1, 2),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("define" as const),
      slot: fc.nat({ max: SLOTS - 1 }),
      condition: fc.option(condition, { nil: undefined, freq: 8 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("compute" as const),
      slot: fc.nat({ max: 1 }),
      computed: fc.option(
        fc
          .record({
            kind: fc.constantFrom(
              "count" as const,
              "sum" as const,
              "average" as const,
              "min" as const,
              "max" as const,
              "most_frequent" as const,
              "first" as const,
              "last" as const,
              "unique_list" as const,
            ),
            event: fc.constantFrom(...EVENTS),
            property: fc.constantFrom("p", "q"),
            withinMs: fc.option(fc.constantFrom(...WINDOWS), { nil: undefined }),
          })
          .map(({ withinMs, ...rest }) => ({ ...rest, ...(withinMs === undefined ? {} : { withinMs }) })),
        { nil: undefined, freq: 5 },
      ),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("advance" as const),
      ms: fc.constantFrom(1, 500, 999, 1_000, 3_999, 5_000, 60_000),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "restart" as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("delete" as const), userId: fc.constantFrom(...USERS) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant("work" as const), steps: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 3, arbitrary: fc.constant({ do: "settle" as const }) },
);

/** What the test knows: the oracle's input, kept beside the engine's. */
class Model {
  /** The audience of each slot. An id is never used again. */
  readonly ids = new Map<number, string>();
  incarnations = 0;
  /** In the order in which the engine counted them. */
  readonly history: PastMessage[] = [];
  /** Deleted users, and how much destinations had been told then. */
  readonly forgotten: { readonly heardBefore: number; readonly ids: ReadonlySet<string> }[] = [];
  readonly definitions = new Map<string, Definition>();
  readonly naive: { audiences: Map<string, Condition>; computed: NaiveComputed[] } & NaiveDefinitions = {
    audiences: new Map(),
    computed: [],
  };
}

async function run(actions: readonly Action[]): Promise<void> {
  const model = new Model();
  const world = new EngineWorld(memoryProfileStore());
  await world.define([]);
  for (const step of actions) {
    await perform(step, model, world);
    await agree(model, world);
  }
  await world.settle();
  await agree(model, world);
  tellsOnlyChanges(model, world);
  await believes(model, world);
}

async function perform(step: Action, model: Model, world: EngineWorld): Promise<void> {
  switch (step.do) {
    case "message": {
      const atMs = world.nowMs - step.ageMs;
      // An event never counts from later than its receipt.
      model.history.push({ ...step.message, atMs: Math.min(atMs, world.nowMs) });
      const sent: UncheckedMessage = { ...step.message, timestamp: new Date(atMs).toISOString() };
      const copies = Array.from({ length: step.copies }, () => sent);
      world.appendWithDuplicates(
        [sent, ...copies],
        copies.map((_, index) => index + 1),
      );
      await world.consume();
      return;
    }
    case "delete":
      await deleteUser(step.userId, model, world);
      return;
    case "define": {
      const known = model.ids.get(step.slot);
      if (step.condition === undefined) {
        // As in the API: an audience that others name cannot be deleted.
        if (known === undefined || isNamed(known, model)) return;
        model.ids.delete(step.slot);
        model.naive.audiences.delete(known);
        model.definitions.delete(known);
      } else {
        const id = known ?? `slot${step.slot}_${model.incarnations++}`;
        const wanted = lowered(step.condition, step.slot, model.ids);
        model.ids.set(step.slot, id);
        model.naive.audiences.set(id, wanted);
        model.definitions.set(id, audience(id, wanted));
      }
      await world.define([...model.definitions.values()]);
      return;
    }
    case "compute": {
      const id = `c${step.slot}`;
      model.naive.computed = model.naive.computed.filter((one) => one.id !== id);
      model.definitions.delete(id);
      if (step.computed !== undefined) {
        model.naive.computed.push({ id, key: id, ...step.computed });
        model.definitions.set(id, computedTrait(id, step.computed.kind, step.computed));
      }
      // Audiences that look at it are evaluated anew only when they change themselves: begin them again with it.
      const others = [...model.definitions.values()].filter((one) => one.kind === "computed_trait");
      await world.define(others);
      await world.settle();
      await world.define([...model.definitions.values()]);
      return;
    }
    case "advance":
      await world.settle();
      await world.advance(step.ms);
      return;
    case "restart":
      await world.restart();
      return;
    case "work":
      for (let count = 0; count < step.steps; count++) await world.workOnce();
      return;
    case "settle":
      await world.settle();
  }
}

/** As a deletion of the collector with aliases: the profile goes, and the log overwrites the messages of all its ids. */
async function deleteUser(userId: string, model: Model, world: EngineWorld): Promise<void> {
  const person = people(model.history).find(({ identities }) => identities.includes(`u:${userId}`));
  const { identities } = await world.engine.identitiesOf(userIdentity(userId), true);
  const gone = new Set<string>(identities);
  // An alias names a user id and an anonymous id with the same text. The oracle cannot forget only one of them.
  const isHalf = ({ previousId }: PastMessage): boolean =>
    previousId !== undefined && gone.has(`a:${previousId}`) !== gone.has(`u:${previousId}`);
  if (model.history.some((message) => isHalf(message) && !gone.has(ownId(message)))) return;
  expect([...identities].sort()).toEqual([...(person?.identities ?? [`u:${userId}`])].sort());
  await world.engine.forget([{ identity: userIdentity(userId), identities }], world.nowMs);
  world.purge((message) => gone.has(ownId(message)));
  model.forgotten.push({ heardBefore: world.heard.length, ids: gone });
  model.history.splice(0, model.history.length, ...model.history.flatMap((one) => withoutIds(one, gone)));
  expect((await world.engine.profile(userId))?.userId).not.toBe(userId);
}

/**
 * A message after the deletion of some ids. What it said about them was decided when it arrived, and is not decided again: an anonymous id
 * that belonged to the deleted user does not fall to another user who once named it.
 */
function withoutIds(message: PastMessage, gone: ReadonlySet<string>): PastMessage[] {
  if (gone.has(ownId(message))) return [];
  if (message.type === "alias") return gone.has(`u:${message.previousId}`) ? [] : [message];
  const { anonymousId, ...rest } = message;
  return [anonymousId !== undefined && gone.has(`a:${anonymousId}`) ? rest : message];
}

/** The id that a message is of. */
function ownId({
  userId,
  anonymousId,
}: {
  readonly userId?: unknown;
  readonly anonymousId?: unknown;
}): string {
  return userId === undefined ? `a:${anonymousId}` : `u:${userId}`;
}

/** What destinations were told, in order; without what they were told of users before these were deleted. */
function heardSinceDeletion(model: Model, world: EngineWorld): EngineWorld["heard"] {
  return world.heard.filter(({ message }, index) =>
    model.forgotten.every(({ heardBefore, ids }) => index >= heardBefore || !ids.has(ownId(message))),
  );
}

function isNamed(id: string, model: Model): boolean {
  return [...model.naive.audiences.values()].some((tree) => audiencesNamed(tree).includes(id));
}

/** The same condition, naming only audiences of slots below that exist. */
function lowered(tree: Condition, slot: number, ids: ReadonlyMap<number, string>): Condition {
  switch (tree.kind) {
    case "and":
    case "or":
      return { ...tree, conditions: tree.conditions.map((child) => lowered(child, slot, ids)) };
    case "not":
      return { ...tree, condition: lowered(tree.condition, slot, ids) };
    case "audience": {
      const audienceId = ids.get(Number(tree.audienceId.slice(4)) % Math.max(1, slot));
      return slot === 0 || audienceId === undefined
        ? { kind: "trait", trait: "t1", is: "exists" }
        : { kind: "audience", audienceId };
    }
    default:
      return tree;
  }
}

/** Memberships, values and what destinations believe are what the oracle says, for every definition that is up to date. */
async function agree(model: Model, world: EngineWorld): Promise<void> {
  const live = new Set(
    (await world.engine.stats(world.nowMs)).filter((one) => one.status.state === "live").map((one) => one.id),
  );
  const everybody = people(model.history);
  for (const person of everybody) {
    const name = person.id.slice(2);
    const isAnonymous = person.id.startsWith("a:");
    const seen = await world.engine.profile(name);
    if (seen === undefined) throw new Error(`No profile of ${person.id}`);
    // A user id and an anonymous id may be alike: asked for by name, the user comes first.
    if ((seen.userId === undefined) !== isAnonymous) continue;
    for (const id of model.naive.audiences.keys()) {
      if (!live.has(id) || dependsOnUnfinished(id, model, live)) continue;
      const expected = isMember(person, id, model.naive, world.nowMs);
      const is = seen.audiences.find((one) => one.id === id)?.member ?? false;
      if (is !== expected) throw new Error(`${person.id} in ${id}: ${is}, expected ${expected}`);
    }
    for (const computed of model.naive.computed) {
      if (!live.has(computed.id)) continue;
      const expected = computedValue(computed, person, world.nowMs);
      expect(seen.computedTraits[computed.key]).toEqual(expected);
    }
  }
}

function dependsOnUnfinished(id: string, model: Model, live: ReadonlySet<string>): boolean {
  const tree = model.naive.audiences.get(id);
  if (tree === undefined) return false;
  const traits = traitsNamed(tree).filter((trait) => model.naive.computed.some((one) => one.id === trait));
  return [...audiencesNamed(tree), ...traits].some(
    (name) => (model.definitions.has(name) && !live.has(name)) || dependsOnUnfinished(name, model, live),
  );
}

/** Nobody is told the same twice in a row. */
function tellsOnlyChanges(model: Model, world: EngineWorld): void {
  const last = new Map<string, string>();
  for (const { id, message: told } of heardSinceDeletion(model, world)) {
    for (const [key, value] of Object.entries((told.traits as object | undefined) ?? {})) {
      const json = JSON.stringify(value);
      expect(last.get(`${id} ${key}`), `${id} ${key}`).not.toBe(json);
      last.set(`${id} ${key}`, json);
    }
  }
}

/** What everybody's destinations believe when all is settled is what is true. */
async function believes(model: Model, world: EngineWorld): Promise<void> {
  const last = new Map<string, unknown>();
  for (const { id, message: told } of heardSinceDeletion(model, world))
    for (const [key, value] of Object.entries((told.traits as object | undefined) ?? {}))
      last.set(`${id} ${key}`, value);
  for (const person of people(model.history)) {
    const isAnonymous = person.id.startsWith("a:");
    const id = isAnonymous ? `anonymous ${person.id.slice(2)}` : person.id.slice(2);
    for (const audienceId of model.naive.audiences.keys()) {
      const believed = last.get(`${id} ${audienceId}`) ?? false;
      expect(believed, `${id} ${audienceId}`).toBe(isMember(person, audienceId, model.naive, world.nowMs));
    }
  }
}

const RUNS = Number(process.env.SLUICE_PROPERTY_RUNS ?? 300);

describe("the engine against an evaluator that reads the whole history each time", () => {
  test("agrees at every step", { timeout: 600_000 }, async () => {
    const actions = fc.array(action, { minLength: 1, maxLength: 40, size: "max" });
    await fc.assert(
      fc.asyncProperty(actions, (steps) => run(steps)),
      { numRuns: RUNS },
    );
  });
});
