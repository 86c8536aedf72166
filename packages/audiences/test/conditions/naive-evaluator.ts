import type { Comparison, ComputedTraitKind, Condition } from "@sluice/protocol";

/**
 * The oracle: who is in what, found out from the whole history each time, in the most obvious way. It shares nothing with
 * what it judges.
 */

export interface PastMessage {
  readonly type: "identify" | "track" | "alias";
  readonly userId?: string;
  readonly anonymousId?: string;
  readonly previousId?: string;
  readonly traits?: Readonly<Record<string, unknown>>;
  readonly event?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  /** When it happened. */
  readonly atMs: number;
}

export interface NaiveComputed {
  readonly id: string;
  readonly key: string;
  readonly kind: ComputedTraitKind;
  readonly event: string;
  readonly property?: string;
  readonly withinMs?: number;
}

export interface NaiveDefinitions {
  readonly audiences: ReadonlyMap<string, Condition>;
  readonly computed: readonly NaiveComputed[];
}

export interface NaivePerson {
  readonly id: string;
  /** All ids that stand for the person: `u:ann`, `a:n1`. */
  readonly identities: string[];
  readonly traits: Record<string, unknown>;
  readonly events: { event: string; properties: Record<string, unknown>; atMs: number; order: number }[];
}

/** Everybody, by the id of the person that each id stands for at the end. */
export function people(history: readonly PastMessage[]): NaivePerson[] {
  const byIdentity = new Map<string, NaivePerson>();
  const join = (person: NaivePerson, identity: string, isAlias: boolean): void => {
    const other = byIdentity.get(identity);
    if (other === person) return;
    if (other === undefined) {
      byIdentity.set(identity, person);
      return;
    }
    if (!isAlias && !other.id.startsWith("a:")) return;
    for (const [name, value] of Object.entries(other.traits))
      if (!(name in person.traits)) person.traits[name] = value;
    person.events.push(...other.events);
    for (const [known, owner] of byIdentity) if (owner === other) byIdentity.set(known, person);
  };
  history.forEach((message, order) => {
    const own = message.userId === undefined ? `a:${message.anonymousId}` : `u:${message.userId}`;
    const person = byIdentity.get(own) ?? { id: own, identities: [], traits: {}, events: [] };
    byIdentity.set(own, person);
    if (message.userId !== undefined && message.anonymousId !== undefined)
      join(person, `a:${message.anonymousId}`, false);
    if (message.type === "alias") {
      join(person, `a:${message.previousId}`, false);
      join(person, `u:${message.previousId}`, true);
    }
    if (message.type === "identify") {
      for (const [name, value] of Object.entries(message.traits ?? {})) {
        if (value === null) delete person.traits[name];
        else person.traits[name] = value;
      }
    }
    if (message.type === "track")
      person.events.push({
        event: message.event ?? "",
        properties: message.properties ?? {},
        atMs: message.atMs,
        order,
      });
  });
  for (const [identity, person] of byIdentity) person.identities.push(identity);
  return [...new Set(byIdentity.values())];
}

export function isMember(
  person: NaivePerson,
  audienceId: string,
  definitions: NaiveDefinitions,
  nowMs: number,
): boolean {
  const condition = definitions.audiences.get(audienceId);
  return condition !== undefined && isTrue(condition, person, definitions, nowMs);
}

export function isTrue(
  condition: Condition,
  person: NaivePerson,
  definitions: NaiveDefinitions,
  nowMs: number,
): boolean {
  switch (condition.kind) {
    case "and":
      return !condition.conditions.some((child) => !isTrue(child, person, definitions, nowMs));
    case "or":
      return condition.conditions.map((child) => isTrue(child, person, definitions, nowMs)).includes(true);
    case "not":
      return !isTrue(condition.condition, person, definitions, nowMs);
    case "audience":
      return isMember(person, condition.audienceId, definitions, nowMs);
    case "trait": {
      const computed = definitions.computed.find((one) => one.key === condition.trait);
      const value = computed ? computedValue(computed, person, nowMs) : person.traits[condition.trait];
      return compares(value, condition.is, condition.value);
    }
    case "event": {
      const { event, withinMs, where = [], times } = condition;
      const done = person.events.filter(
        (one) =>
          one.event === event &&
          (withinMs === undefined || nowMs - one.atMs < withinMs) &&
          where.every((test) => compares(one.properties[test.property], test.is, test.value)),
      ).length;
      if ("atLeast" in times) return done >= times.atLeast;
      if ("atMost" in times) return done <= times.atMost;
      return done === times.exactly;
    }
  }
}

export function computedValue(computed: NaiveComputed, person: NaivePerson, nowMs: number): unknown {
  const { event, withinMs, kind, property } = computed;
  const values = person.events
    .filter((one) => one.event === event && (withinMs === undefined || nowMs - one.atMs < withinMs))
    .sort((a, b) => a.atMs - b.atMs || a.order - b.order)
    .map((one) => (kind === "count" ? 1 : one.properties[property ?? ""]))
    .filter((value) => value !== undefined && value !== null);
  const numbers = values.filter((value) => typeof value === "number");
  const sum = exactSum(numbers);
  const isOfNumbers = kind === "sum" || kind === "average" || kind === "min" || kind === "max";
  if ((isOfNumbers ? numbers : values).length === 0) return undefined;
  switch (kind) {
    case "count":
      return values.length;
    case "sum":
      return Number(`${sum}e-${PLACES}`);
    case "average":
      return Number(`${(sum * 10n ** 30n) / BigInt(numbers.length)}e-${PLACES + 30}`);
    case "min":
      return Math.min(...numbers);
    case "max":
      return Math.max(...numbers);
    case "first":
      return values[0];
    case "last":
      return values.at(-1);
    case "unique_list":
      return [...new Set(values)];
    case "most_frequent": {
      const different = [...new Set(values)];
      const times = different.map((value) => values.filter((one) => one === value).length);
      return different[times.indexOf(Math.max(...times))];
    }
  }
}

function compares(seen: unknown, is: Comparison, value: unknown): boolean {
  switch (is) {
    case "exists":
      return (seen !== undefined) === (value ?? true);
    case "equals":
      return seen !== undefined && seen === value;
    case "not_equals":
      return seen === undefined || seen !== value;
    case "in":
      return (value as unknown[]).includes(seen);
    case "contains":
      if (Array.isArray(seen)) return seen.includes(value);
      return typeof seen === "string" && typeof value === "string" && seen.includes(value);
    case "less":
      return typeof seen === "number" && seen < (value as number);
    case "greater":
      return typeof seen === "number" && seen > (value as number);
  }
}

/** Decimal places of any double, so that a sum is one whole number. */
const PLACES = 400;

/** The sum of the numbers as they are written, times ten to the power of `PLACES`. */
export function exactSum(numbers: readonly number[]): bigint {
  return numbers.reduce((total, value) => {
    const [, sign, whole = "", fraction = "", power = "0"] =
      /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(String(value)) ?? [];
    const units = BigInt(whole + fraction) * 10n ** BigInt(PLACES - fraction.length + Number(power));
    return sign === "-" ? total - units : total + units;
  }, 0n);
}
