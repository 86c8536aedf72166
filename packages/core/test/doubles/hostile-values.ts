import fc from "fast-check";

/** Makes one value. fast-check gets only functions, because it looks at the values that it generates. */
type Maker = () => unknown;

const bomb = (): never => {
  throw new Error("bomb");
};

/** A proxy that throws at everything that is asked of it. */
function explosiveProxy(target: object): object {
  return new Proxy(target, new Proxy({}, { get: () => bomb }));
}

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

function cycle(): object {
  const value: { [name: string]: unknown } = {};
  value.self = [value];
  return value;
}

/** Getters for the names that the SDK reads, and for one that it does not know. */
const NAMES = [
  ...["userId", "messageId", "event", "properties", "context", "timestamp", "user_id", "name", "x"],
  ...[
    "writeKey",
    "host",
    "regions",
    "flushAt",
    "size",
    "transport",
    "fetch",
    "spool",
    "onError",
    "timeoutMs",
  ],
  ...["connections", "dispatcher", "url", "headers", "body", "secret", "webhook-id"],
];

/** Makers of values that break code which reads them carelessly. */
const MAKERS: readonly Maker[] = [
  () => explosiveProxy({}),
  () => explosiveProxy([]),
  () => explosiveProxy(() => {}),
  () => revoked({}),
  () => revoked([]),
  () => revoked(() => {}),
  cycle,
  () => 10n ** 5_000n,
  () => ({ toJSON: bomb }),
  () => ({ toString: bomb, valueOf: bomb }),
  () => ({ [Symbol.toPrimitive]: bomb }),
  () => ({ [Symbol.iterator]: bomb }),
  () => Object.assign(Object.create(null), { userId: "u", event: "E", toJSON: bomb }),
  () => Object.create(null),
  () => Object.create(explosiveProxy({})),
  // biome-ignore lint/suspicious/noThenProperty: a thenable that throws is what is tested.
  () => Object.defineProperty({}, "then", { get: bomb, enumerable: true }),
  () => Object.defineProperty(new Error("e"), "message", { get: bomb }),
  () => Symbol("s"),
  () => Number.NaN,
  () => new Date(Number.NaN),
  () => class {},
  () => undefined,
  () => null,
];

const maker = fc.constantFrom(...MAKERS);
const names = fc.uniqueArray(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 });

/** An object with hostile values in fields that the SDK reads. */
const withHostileFields = fc
  .dictionary(fc.constantFrom(...NAMES), maker, { minKeys: 1, maxKeys: 3 })
  .map((fields): Maker => named(fields, () => made(fields)));

/** An object with getters that throw. */
const withThrowingGetters = names.map(
  (getters): Maker =>
    named(getters, () => {
      const properties = getters.map((name) => [name, { get: bomb, enumerable: true, configurable: true }]);
      return Object.defineProperties({ userId: "u", event: "E" }, Object.fromEntries(properties));
    }),
);

const ordinary = fc.oneof(
  fc.anything({ withBigInt: true, withNullPrototype: true, withDate: true }),
  fc.string(),
);

/** Makes a hostile value, or now and then an ordinary one. */
export const hostileValue: fc.Arbitrary<Maker> = fc.oneof(
  { weight: 3, arbitrary: maker },
  { weight: 3, arbitrary: withHostileFields },
  { weight: 3, arbitrary: withThrowingGetters },
  { weight: 1, arbitrary: ordinary.map((value): Maker => named(value, () => value)) },
);

/** Shows in a counterexample what the function makes. */
function named(source: unknown, make: Maker): Maker {
  return Object.assign(make, { [fc.toStringMethod]: () => fc.stringify(source) });
}

function made(fields: { [name: string]: Maker }): object {
  return Object.fromEntries(Object.entries(fields).map(([name, make]) => [name, make()]));
}
