import type { StoredMessage } from "@sluice/event-log";
import type { Condition } from "@sluice/protocol";
import { ownerOf } from "./identities.js";

/** Who did what, found out from the whole log, by the rules of the guide about profiles. It asks nothing of the product. */
export interface Person {
  /** The id under which destinations hear of them. */
  readonly id: string;
  readonly traits: Map<string, unknown>;
  readonly events: { readonly event: string; readonly atMs: number }[];
}

/** Everybody at the end of the log, and all ids that stand for each. */
export function everybody(log: readonly StoredMessage[]): Map<Person, string[]> {
  const known = new Map<string, Person>();
  const takeIn = (person: Person, identity: string, isAlias: boolean): void => {
    const other = known.get(identity);
    if (other === person) return;
    // An anonymous id stays with the first user who is identified with it.
    if (other !== undefined && !isAlias && !other.id.startsWith("a:")) return;
    for (const [trait, value] of other?.traits ?? [])
      if (!person.traits.has(trait)) person.traits.set(trait, value);
    person.events.push(...(other?.events ?? []));
    if (other === undefined) known.set(identity, person);
    else for (const [id, owner] of known) if (owner === other) known.set(id, person);
  };
  for (const { message, receivedAtMs } of log) {
    const own = ownerOf(message);
    const person: Person = known.get(own) ?? { id: own, traits: new Map(), events: [] };
    known.set(own, person);
    const { type, userId, anonymousId, previousId, traits, event } = message as Readonly<
      Record<string, unknown>
    >;
    if (userId !== undefined && anonymousId !== undefined) takeIn(person, `a:${String(anonymousId)}`, false);
    if (type === "alias") {
      takeIn(person, `a:${String(previousId)}`, false);
      takeIn(person, `u:${String(previousId)}`, true);
    }
    if (type === "identify")
      for (const [name, value] of Object.entries(traits ?? {})) person.traits.set(name, value);
    if (type === "track") person.events.push({ event: String(event), atMs: timeOf(message, receivedAtMs) });
  }
  const people = new Map<Person, string[]>();
  for (const [identity, person] of known) people.set(person, [...(people.get(person) ?? []), identity]);
  return people;
}

/** A sender's clock may be wrong: what it says is moved by how much its `sentAt` differs from the receipt. */
function timeOf(message: StoredMessage["message"], receivedAtMs: number): number {
  const { originalTimestamp, sentAt } = message as Readonly<Record<string, unknown>>;
  const saidMs = Date.parse(String(originalTimestamp));
  if (Number.isNaN(saidMs)) return receivedAtMs;
  const wrongByMs = receivedAtMs - Date.parse(String(sentAt));
  return Math.min(receivedAtMs, Math.abs(wrongByMs) > 5_000 ? saidMs + wrongByMs : saidMs);
}

/** How often an event happened to a person, within a time. */
export function timesOf(
  { events }: Person,
  event: string,
  withinMs: number | undefined,
  nowMs: number,
): number {
  return events.filter(
    (one) => one.event === event && nowMs - one.atMs < (withinMs ?? Number.POSITIVE_INFINITY),
  ).length;
}

/** Whether a condition of a scenario holds. */
export function holds(condition: Condition, person: Person, nowMs: number): boolean {
  switch (condition.kind) {
    case "and":
      return condition.conditions.every((part) => holds(part, person, nowMs));
    case "or":
      return condition.conditions.some((part) => holds(part, person, nowMs));
    case "not":
      return !holds(condition.condition, person, nowMs);
    case "trait": {
      const value = person.traits.get(condition.trait);
      return condition.is === "exists"
        ? (value !== undefined) === condition.value
        : value === condition.value;
    }
    case "event": {
      const { event, withinMs, times } = condition;
      const count = timesOf(person, event, withinMs, nowMs);
      if ("atLeast" in times) return count >= times.atLeast;
      return "atMost" in times ? count <= times.atMost : count === times.exactly;
    }
    default:
      throw new Error(`No scenario has a condition ${condition.kind}`);
  }
}
