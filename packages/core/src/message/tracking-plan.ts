import type { Integrations, JsonObject } from "@sluice/protocol";

/**
 * A tracking plan: the events of an application and what each carries. Give it to `Analytics<Plan>` and every call is
 * checked against it; a kind that the plan does not name stays free.
 *
 * @example
 * interface Plan {
 *   identify: { email: string; plan?: "free" | "pro" };
 *   track: { "Order Completed": { total: number }; "Signed Out": {} };
 *   page: { Home: {}; Docs: { section: string } };
 *   group: { name: string };
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
}

/** A number goes out as its digits. */
type Id = string | number;

/** Who a message is about: one of the two is required. */
export type Identity =
  | { userId: Id; anonymousId?: Id | undefined }
  | { anonymousId: Id; userId?: Id | undefined };

/** What every call may carry. */
export interface CallFields {
  /** Unique, shorter than 100 characters; repeated ones are stored once. Default: a new UUID. */
  messageId?: string | number | undefined;
  /** When it happened: a Date, ISO 8601, or milliseconds since the epoch. For historical data; default: the collector's time of the call. */
  timestamp?: Date | string | number | undefined;
  /** What surrounds the message: device, page, IP address. Merged over the client's own `context`, key by key. */
  context?: JsonObject | undefined;
  /** Destination name → whether the message goes there. `All: false` turns off those that are not named. */
  integrations?: Integrations | undefined;
}

/** `Field` holding a `Shape`: optional where every key of the shape is. */
type Holding<Field extends string, Shape> =
  Record<never, never> extends Shape ? { [key in Field]?: Shape | undefined } : { [key in Field]: Shape };

type IsAny<Type> = 0 extends 1 & Type ? true : false;

/** What the plan says of a kind; `never` where it says nothing, and of `any`, which plain JavaScript has for a plan. */
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
  ? JsonObject
  : Name extends keyof Planned<Plan, Kind>
    ? Planned<Plan, Kind>[Name]
    : never;

type Traits<Plan, Kind extends string> = [Planned<Plan, Kind>] extends [never]
  ? JsonObject
  : Planned<Plan, Kind>;

/** Without a plan one shape; with one, a shape for each of its names, so that a name decides its properties. */
type EachName<Plan, Kind extends string, NameField extends string> = [Planned<Plan, Kind>] extends [never]
  ? { [field in NameField]: string } & { properties?: JsonObject | undefined }
  : {
      [Name in Names<Plan, Kind>]: { [field in NameField]: Name } & Holding<
        "properties",
        ShapeOf<Plan, Kind, Name>
      >;
    }[Names<Plan, Kind>];

/** What `identify` takes: who a user is. `traits` are the plan's, each of them optional: a call tells what changed. */
export type IdentifyCall<Plan> = CallFields & Identity & Holding<"traits", Partial<Traits<Plan, "identify">>>;

/** What `track` takes: what a user did. With a plan, the event's name decides its properties. */
export type TrackCall<Plan> = CallFields & Identity & EachName<Plan, "track", "event">;

/** A page or screen without a plan needs no name; a category needs one. */
type FreeView = { properties?: JsonObject | undefined; traits?: JsonObject | undefined } & (
  | { name: string; category?: string | undefined }
  | { name?: undefined; category?: undefined }
);

type ViewCall<Plan, Kind extends "page" | "screen"> = CallFields &
  Identity &
  ([Planned<Plan, Kind>] extends [never]
    ? FreeView
    : { category?: string | undefined } & EachName<Plan, Kind, "name">);

/** What `page` takes as an object. */
export type PageCall<Plan> = ViewCall<Plan, "page">;
/** What `screen` takes as an object. */
export type ScreenCall<Plan> = ViewCall<Plan, "screen">;

/** What `group` takes: which group a user belongs to. */
export type GroupCall<Plan> = CallFields &
  Identity & { groupId: Id } & Holding<"traits", Partial<Traits<Plan, "group">>>;

/** What `alias` takes: two ids that are one user. */
export type AliasCall = CallFields & { userId: Id; previousId: Id };

/** The fields beside the name in `page("Docs", "Home", fields)`. */
export type ViewFields<Plan, Kind extends "page" | "screen", Name> = CallFields &
  Identity &
  Holding<"properties", ShapeOf<Plan, Kind, Name>>;

/** The names that a plan knows for pages or screens; any text without a plan. */
export type ViewName<Plan, Kind extends "page" | "screen"> = Names<Plan, Kind>;

/** `page` and `screen`: as an object, as a name, or as a category and a name. */
export interface View<Plan, Kind extends "page" | "screen", Answer> {
  (call: ViewCall<Plan, Kind>): Answer;
  <Name extends ViewName<Plan, Kind>>(name: Name, fields: ViewFields<Plan, Kind, Name>): Answer;
  <Name extends ViewName<Plan, Kind>>(
    category: string,
    name: Name,
    fields: ViewFields<Plan, Kind, Name>,
  ): Answer;
}
