import type { Integrations, JsonObject } from "@sluice/protocol";
import type { CallOptions } from "../queue/request-flush.js";

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

/**
 * A tracking plan: the events of an application and their properties. With `Analytics<Plan>` TypeScript checks every call against
 * it. Kinds that the plan does not name stay unchecked.
 *
 * @example
 * interface Plan {
 *   identify: { email: string; plan?: "free" | "pro" };
 *   track: { "Order Completed": { total: number }; "Signed Out": {} };
 *   page: { Home: {}; Docs: { section: string } };
 *   group: { name: string };
 *   alias: { previousId: `anon_${string}` };
 * }
 * const analytics = new Analytics<Plan>({ writeKey });
 * analytics.track({ userId: "u1", event: "Order Completed", properties: { total: 12 } });
 */
export interface TrackingPlan {
  /** Traits of a user. */
  identify?: object;
  /** Event name → properties. */
  track?: object;
  /** Page name → properties. */
  page?: object;
  /** Screen name → properties. */
  screen?: object;
  /** Traits of a group. */
  group?: object;
  /** The two ids of an alias, such as `{ previousId: `anon_${string}` }`. An id that the plan does not name stays unchecked. */
  alias?: object;
}

/** A number is sent as a string of its digits. */
type Id = string | number;

/**
 * The user of a message. One of the two ids is required. Whether there is a `userId` tells the two members apart, so that TypeScript
 * reports what is missing elsewhere in a call and not the other member's id.
 */
export type Identity = { userId: Id; anonymousId?: Id | undefined } | { anonymousId: Id; userId?: undefined };

/** Fields of every call. */
export interface CallFields {
  /** Unique, shorter than 100 characters. Messages with the same id are stored once. Default: a new UUID. */
  messageId?: string | number | undefined;
  /**
   * When the event happened: a Date, ISO 8601, or milliseconds since the epoch. Set it for historical data. Without one, the
   * collector works out when you made the call.
   */
  timestamp?: Date | string | number | undefined;
  /** The circumstances of the event, such as device, page and IP address. Merged over the client's `context`, key by key. */
  context?: Fields | undefined;
  /** Destination name → whether the message goes there. `All: false` turns off all that are not named. */
  integrations?: Integrations | undefined;
}

/** A `Field` with the type `Shape`. It is optional if every key of the shape is. */
type Holding<Field extends string, Shape> =
  Record<never, never> extends Shape ? { [key in Field]?: Shape | undefined } : { [key in Field]: Shape };

type IsAny<Type> = 0 extends 1 & Type ? true : false;

/** The part of the plan for a kind. `never` if the plan does not have the kind, or is `any`, as in plain JavaScript. */
type Planned<Plan, Kind extends string> =
  IsAny<Plan> extends true
    ? never
    : Plan extends { [kind in Kind]: infer Shape extends object }
      ? Shape
      : never;

type Names<Plan, Kind extends string> = [Planned<Plan, Kind>] extends [never]
  ? string
  : keyof Planned<Plan, Kind> & string;

type ShapeOf<Plan, Kind extends string, Name> = [Planned<Plan, Kind>] extends [never]
  ? Fields
  : Name extends keyof Planned<Plan, Kind>
    ? Planned<Plan, Kind>[Name]
    : never;

/** The plan's traits are all optional, because a call may send only what changed. */
type Traits<Plan, Kind extends string> = [Planned<Plan, Kind>] extends [never]
  ? Fields
  : Partial<Planned<Plan, Kind>>;

/** One shape without a plan. With a plan, one shape for each of its names, so that the name decides the properties. */
type EachName<Plan, Kind extends string, NameField extends string> = [Planned<Plan, Kind>] extends [never]
  ? { [field in NameField]: string } & { properties?: Fields | undefined }
  : {
      [Name in Names<Plan, Kind>]: { [field in NameField]: Name } & Holding<
        "properties",
        ShapeOf<Plan, Kind, Name>
      >;
    }[Names<Plan, Kind>];

/** The argument of `identify`. */
export type IdentifyCall<Plan> = CallFields & Identity & Holding<"traits", Traits<Plan, "identify">>;

/** The argument of `track`. With a plan, the event's name decides its properties. */
export type TrackCall<Plan> = CallFields & Identity & EachName<Plan, "track", "event">;

/** Without a plan, a page or screen needs no name, unless it has a category. */
type FreeView = { properties?: Fields | undefined; traits?: Fields | undefined } & (
  | { name: string; category?: string | undefined }
  | { name?: undefined; category?: undefined }
);

type ViewCall<Plan, Kind extends "page" | "screen"> = CallFields &
  Identity &
  ([Planned<Plan, Kind>] extends [never]
    ? FreeView
    : { category?: string | undefined } & EachName<Plan, Kind, "name">);

/** The argument of `page` as an object. */
export type PageCall<Plan> = ViewCall<Plan, "page">;
/** The argument of `screen` as an object. */
export type ScreenCall<Plan> = ViewCall<Plan, "screen">;

/** The argument of `group`. */
export type GroupCall<Plan> = CallFields &
  Identity & { groupId: Id } & Holding<"traits", Traits<Plan, "group">>;

/** The argument of `alias`: two ids of the same user. */
export type AliasCall<Plan = unknown> = CallFields &
  ([Planned<Plan, "alias">] extends [never]
    ? AliasIds
    : Omit<AliasIds, keyof Planned<Plan, "alias">> & Planned<Plan, "alias">);

interface AliasIds {
  userId: Id;
  previousId: Id;
}

/** `fields` in `page("Docs", "Home", fields)`. */
export type ViewFields<Plan, Kind extends "page" | "screen", Name> = CallFields &
  Identity &
  Holding<"properties", ShapeOf<Plan, Kind, Name>>;

/** The names of pages or screens in a plan. Any string without a plan. */
export type ViewName<Plan, Kind extends "page" | "screen"> = Names<Plan, Kind>;

/** The forms of `page` and `screen`: an object, a name, or a category and a name. */
export interface View<Plan, Kind extends "page" | "screen", Answer> {
  (call: ViewCall<Plan, Kind>, options?: CallOptions): Answer;
  <Name extends ViewName<Plan, Kind>>(
    name: Name,
    fields: ViewFields<Plan, Kind, Name>,
    options?: CallOptions,
  ): Answer;
  <Name extends ViewName<Plan, Kind>>(
    category: string,
    name: Name,
    fields: ViewFields<Plan, Kind, Name>,
    options?: CallOptions,
  ): Answer;
}
