import { describe, expectTypeOf, it } from "vitest";
import type {
  AliasCall,
  ContextCalls,
  GroupCall,
  IdentifyCall,
  PageCall,
  ScreenCall,
  TrackCall,
  View,
} from "../../src/index.js";

interface Plan {
  identify: { email: string; plan?: "free" | "pro" };
  track: { "Order Completed": { total: number }; "Signed Out": { reason?: string } };
  page: { Home: { referrer?: string }; Docs: { section: string } };
  screen: { Start: { tab: number } };
  group: { name: string };
  alias: { previousId: `anon_${string}` };
}
// biome-ignore lint/complexity/noBannedTypes: an empty object type means no plan.
type None = {};

/** Checked by `tsc`: a `@ts-expect-error` fails the type check if the next line has no error. */
describe("without a plan", () => {
  it("every name and shape is allowed, and the required fields are required", () => {
    expectTypeOf({ userId: "u", event: "any", properties: { a: 1 } }).toExtend<TrackCall<None>>();
    expectTypeOf({ anonymousId: 5, event: "any" }).toExtend<TrackCall<None>>();
    expectTypeOf({ userId: "u" }).not.toExtend<TrackCall<None>>();
    expectTypeOf({ event: "any" }).not.toExtend<TrackCall<None>>();
    expectTypeOf({ userId: "u", event: 5 }).not.toExtend<TrackCall<None>>();
    expectTypeOf({ userId: "u", traits: { a: new Date() } }).toExtend<IdentifyCall<None>>();
    expectTypeOf({ userId: "u" }).toExtend<PageCall<None>>();
    expectTypeOf({ userId: "u", category: "c" }).not.toExtend<PageCall<None>>();
    expectTypeOf({ userId: "u", category: "c", name: "n" }).toExtend<ScreenCall<None>>();
    expectTypeOf({ userId: "u" }).not.toExtend<GroupCall<None>>();
    expectTypeOf({ userId: "u" }).not.toExtend<AliasCall>();
    expectTypeOf({ userId: "u", previousId: "p" }).toExtend<AliasCall>();
    expectTypeOf<{ userId?: string; anonymousId: string; event: string }>().toExtend<TrackCall<None>>();
    expectTypeOf<{ userId: string | undefined; anonymousId: string; event: string }>().toExtend<
      TrackCall<None>
    >();
  });
});

describe("the types of properties, traits and context", () => {
  interface Order {
    total: number;
    coupon?: string;
    paidAt: Date | undefined;
  }
  /** Its names are those of members of functions and arrays. */
  interface Call {
    name: string;
    length: number;
    call: boolean;
  }
  class Basket {
    readonly items: string[] = [];
    #total = 0;
    get total(): number {
      return this.#total;
    }
  }
  const order: Order = { total: 1, paidAt: undefined };

  it("take interfaces, classes, and optional and undefined members", () => {
    const calls = (
      track: (call: TrackCall<None>) => void,
      identify: (call: IdentifyCall<None>) => void,
      page: View<None, "page", void>,
      call: Call,
    ) => {
      track({ userId: "u", event: "E", properties: order, context: order });
      track({ userId: "u", event: "E", properties: new Basket(), context: call });
      track({ userId: "u", event: "E", properties: {}, context: { app: { name: "shop" }, ip: undefined } });
      identify({ userId: "u", traits: order });
      page({ userId: "u", properties: order, traits: new Basket() });
      page("Home", { userId: "u", properties: call });
    };
    expectTypeOf(calls).toBeFunction();
  });

  it("take a value of a type parameter", () => {
    const send = <T extends object>(track: (call: TrackCall<None>) => void, properties: T) =>
      track({ userId: "u", event: "E", properties });
    expectTypeOf(send).toBeFunction();
  });

  it("take no value that is not an object of fields", () => {
    const calls = (track: (call: TrackCall<None>) => void) => {
      // @ts-expect-error A function
      track({ userId: "u", event: "E", properties: () => order });
      // @ts-expect-error A class
      track({ userId: "u", event: "E", properties: Basket });
      // @ts-expect-error A symbol
      track({ userId: "u", event: "E", properties: Symbol("order") });
      // @ts-expect-error An array
      track({ userId: "u", event: "E", properties: [order] });
      // @ts-expect-error A date
      track({ userId: "u", event: "E", context: new Date() });
      // @ts-expect-error A map
      track({ userId: "u", event: "E", properties: new Map([["total", 1]]) });
      // @ts-expect-error A promise
      track({ userId: "u", event: "E", properties: Promise.resolve(order) });
      // @ts-expect-error null
      track({ userId: "u", event: "E", properties: null });
    };
    expectTypeOf(calls).toBeFunction();
  });
});

it("any as a plan means no plan", () => {
  // biome-ignore lint/suspicious/noExplicitAny: JavaScript files with JSDoc types get `any`.
  expectTypeOf({ userId: "u", event: "any", properties: { a: 1 } }).toExtend<TrackCall<any>>();
});

describe("with a plan", () => {
  it("an event's name decides its properties", () => {
    expectTypeOf({ userId: "u", event: "Order Completed" as const, properties: { total: 5 } }).toExtend<
      TrackCall<Plan>
    >();
    expectTypeOf({ userId: "u", event: "Order Completed" as const }).not.toExtend<TrackCall<Plan>>();
    expectTypeOf({ userId: "u", event: "Order Completed" as const, properties: { total: "5" } }).not.toExtend<
      TrackCall<Plan>
    >();
    expectTypeOf({ userId: "u", event: "Order Complete" as const, properties: { total: 5 } }).not.toExtend<
      TrackCall<Plan>
    >();
    expectTypeOf({ userId: "u", event: "Signed Out" as const }).toExtend<TrackCall<Plan>>();
  });

  it("types the other calls too", () => {
    expectTypeOf({ userId: "u", traits: { email: "a@b.c" } }).toExtend<IdentifyCall<Plan>>();
    expectTypeOf({ userId: "u", traits: { email: 5 } }).not.toExtend<IdentifyCall<Plan>>();
    expectTypeOf({ userId: "u", groupId: "g", traits: { name: 5 } }).not.toExtend<GroupCall<Plan>>();
    expectTypeOf({ userId: "u", name: "Docs" as const, properties: { section: "a" } }).toExtend<
      PageCall<Plan>
    >();
    expectTypeOf({ userId: "u", name: "Docs" as const }).not.toExtend<PageCall<Plan>>();
    expectTypeOf({ userId: "u", name: "Start" as const, properties: { tab: "1" } }).not.toExtend<
      ScreenCall<Plan>
    >();
  });

  it("types the ids of an alias", () => {
    expectTypeOf({ userId: 5, previousId: "anon_1" as const }).toExtend<AliasCall<Plan>>();
    expectTypeOf({ userId: "u", previousId: "device_1" as const }).not.toExtend<AliasCall<Plan>>();
    expectTypeOf({ previousId: "anon_1" as const }).not.toExtend<AliasCall<Plan>>();
    expectTypeOf({ userId: "u", previousId: "p" }).toExtend<AliasCall<None>>();
  });

  it("takes an interface where its fields fit the plan", () => {
    interface Completed {
      total: number;
    }
    expectTypeOf<{ userId: string; event: "Order Completed"; properties: Completed }>().toExtend<
      TrackCall<Plan>
    >();
  });

  it("a misspelt field is an error, with a plan and without", () => {
    const calls = (planned: (call: TrackCall<Plan>) => void, free: (call: TrackCall<None>) => void) => {
      planned({ userId: "u", event: "Order Completed", properties: { total: 1 }, context: { ip: "0" } });
      // @ts-expect-error There is no such field.
      planned({ userId: "u", event: "Signed Out", propertis: {} });
      // @ts-expect-error There is no such field.
      free({ userId: "u", event: "E", propertis: {} });
      // @ts-expect-error A Date is not an object of properties.
      free({ userId: "u", event: "E", properties: "today" });
      // @ts-expect-error The property is not in the plan.
      planned({ userId: "u", event: "Order Completed", properties: { total: 1, tax: 2 } });
    };
    expectTypeOf(calls).toBeFunction();
  });

  it("types the short forms", () => {
    const calls = (page: View<Plan, "page", void>, screen: View<None, "screen", void>) => {
      page("Home", { userId: "u" });
      page("Guides", "Docs", { userId: "u", properties: { section: "a" } });
      screen("Anything", { anonymousId: "a", properties: { x: 1 } });
      // @ts-expect-error It has neither a userId nor an anonymousId.
      page("Home", {});
      // @ts-expect-error The plan has no such page.
      page("Nowhere", { userId: "u" });
      // @ts-expect-error The page needs its section.
      page("Docs", { userId: "u" });
      // @ts-expect-error Category and name must be strings.
      screen("a", 5, { userId: "u" });
    };
    expectTypeOf(calls).toBeFunction();
  });
});

describe("calls within withContext", () => {
  interface Plan {
    track: { "Order Completed": { total: number } };
  }
  const calls = new Proxy({} as ContextCalls<Plan, void>, { get: () => () => {} });

  it("need no id, and follow the plan", () => {
    calls.track({ event: "Order Completed", properties: { total: 1 } });
    calls.identify({ traits: { plan: "pro" } });
    calls.page({ name: "Home", userId: "own" });
    calls.group({ groupId: "g" });
    // @ts-expect-error The plan knows no such event.
    calls.track({ event: "Order Complete", properties: { total: 1 } });
    // @ts-expect-error The total is a number.
    calls.track({ event: "Order Completed", properties: { total: "1" } });
  });
});
