import type { Client } from "./clients.ts";
import type { Received } from "./world.ts";

/** The time of the calls that have one: 12:34:56.789 at +05:30. */
const AT = "2020-02-29T07:04:56.789Z";

/** What arrives for the calls of a program, by type and name, if the client changes nothing. */
function expectedCalls({ vendor }: Client, user: string): Readonly<Record<string, Received>> {
  const isPostHog = vendor === "PostHog";
  return {
    identify: { type: "identify", userId: user, traits: { name: "Zoë 🎈 שלום", email: "ada@example.com" } },
    "Order Completed ✓": {
      type: "track",
      userId: user,
      event: "Order Completed ✓",
      properties: {
        total: 129.95,
        decimal: 0.1,
        count: 3,
        big: 18446744073709551615n,
        negative: -9007199254740993n,
        isPaid: true,
        items: ["a", { sku: "b" }],
        text: 'quotes " \\ and \u2028 \u0001',
        due: AT,
      },
      timestamp: AT,
    },
    page: { type: "page", userId: user, ...(isPostHog ? {} : { name: "Home" }), properties: { path: "/" } },
    screen: { type: "screen", userId: user, name: "Start", properties: { first: true } },
    // PostHog's groups have no user.
    group: {
      type: "group",
      ...(isPostHog ? { groupId: user } : { userId: user, groupId: "g1" }),
      traits: { seats: 12 },
    },
    alias: { type: "alias", "Previous ID": "anon-1", "User ID": user },
    "Local Time": { type: "track", userId: user, event: "Local Time", properties: {}, timestamp: AT },
  };
}

/** The fields that arrived with another value, as `call.field`, and the calls that did not arrive. */
export function differencesOf(client: Client, user: string, arrived: readonly Received[]): string[] {
  const expected = Object.entries(expectedCalls(client, user)).slice(0, client.calls);
  return expected.flatMap(([call, fields]) => {
    const found = arrived.find(({ type, event }) => call === (event ?? type));
    if (found === undefined) return [call];
    return Object.entries(fields).flatMap(([field, value]) =>
      differences(`${call}.${field}`, value, found[field]),
    );
  });
}

/** The paths at which two values differ. */
export function differences(path: string, expected: unknown, actual: unknown): string[] {
  if (!isObject(expected) || !isObject(actual)) return isSame(expected, actual) ? [] : [path];
  const names = new Set([...Object.keys(expected), ...Object.keys(actual)]);
  return [...names].flatMap((name) => differences(`${path}.${name}`, expected[name], actual[name]));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

/** Times are the same if they are the same instant, in whatever zone they are written. */
function isSame(expected: unknown, actual: unknown): boolean {
  return expected === AT ? Date.parse(String(actual)) === Date.parse(AT) : expected === actual;
}
