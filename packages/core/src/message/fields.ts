import type { JsonObject } from "@sluice/protocol";

/** Present on functions, arrays, dates, maps, sets and promises. They are objects, but JSON makes nothing of their fields. */
interface NotFields {
  readonly [Symbol.iterator]?: never;
  readonly [Symbol.hasInstance]?: never;
  readonly [Symbol.toPrimitive]?: never;
  readonly [Symbol.toStringTag]?: never;
}

/**
 * Properties, traits or a context: a literal, an object of an interface or a type, or an instance of a class. `JsonObject` alone
 * takes no interface, because an interface has no index signature. The intersection alone takes no literal, because every field of a
 * literal would be an unknown one.
 */
export type Fields = JsonObject | (object & NotFields);
