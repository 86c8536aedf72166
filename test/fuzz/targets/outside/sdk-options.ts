import fc from "fast-check";
import { expect } from "vitest";
import { ConfigError } from "../../../../packages/core/src/errors.js";
import { resolveOptions } from "../../../../packages/core/src/options/resolve-options.js";
import { hostileValue } from "../../../../packages/core/test/doubles/hostile-values.js";
import { valueTarget } from "../../engine/target.js";

const names = [
  ...[
    "writeKey",
    "host",
    "endpoint",
    "regions",
    "flushAt",
    "size",
    "flushAfter",
    "flushPolicy",
    "batchSize",
    "maxQueueSize",
  ],
  ...[
    "maxQueueBytes",
    "maxInFlight",
    "requestTimeoutMs",
    "maxRetries",
    "maxTotalRetryMs",
    "gzip",
    "stub",
    "beforeSend",
  ],
  ...[
    "disable",
    "quiet",
    "context",
    "integrations",
    "transport",
    "onError",
    "waitUntil",
    "instrument",
    "__proto__",
  ],
];
const text = fc.oneof(
  fc.constantFrom(
    "wk_1",
    "oregon",
    "dublin",
    "http://127.0.0.1:8787/v1/",
    "https://u:p@x",
    "http://x?y",
    "ftp://x",
    "",
    " ",
    "eager",
  ),
  fc.webUrl({ withFragments: true, withQueryParameters: true }),
  fc.string({ unit: "binary" }),
);
/** Made only when it is used: fast-check looks at the values that it generates, and these throw. */
class Hostile {
  readonly make: () => unknown;

  constructor(make: () => unknown) {
    this.make = make;
  }
}
const hostile = hostileValue.map((make) => new Hostile(make));
const value = fc.oneof(
  text,
  fc.constantFrom<unknown>(0, 1, -1, 1.5, 2 ** 53, null, true, undefined, () => 1, {}, []),
  fc.jsonValue({ maxDepth: 2 }),
  hostile,
);
const options = fc.oneof(
  fc.array(fc.tuple(fc.constantFrom(...names), value), { maxLength: 6 }),
  value.filter((one) => !Array.isArray(one)),
);

export const sdkOptions = valueTarget({
  name: "sdk-options",
  rule: "options are refused with a ConfigError, or resolve to a URL that can be posted to and numbers in their ranges",
  runs: 1_500,
  values: fc.tuple(
    options,
    fc.dictionary(
      fc.constantFrom("SLUICE_WRITE_KEY", "SLUICE_URL", "SLUICE_OREGON_URL", "SLUICE_DUBLIN_URL"),
      text,
    ),
  ),
  check([given, environment]) {
    try {
      const resolved = resolveOptions(optionsOf(given) as never, environment);
      const url = new URL(resolved.batchUrl);
      expect(["http:", "https:"]).toContain(url.protocol);
      expect([url.username, url.password, url.search, url.hash]).toEqual(["", "", "", ""]);
      expect(url.pathname.endsWith("/v1/batch")).toBe(true);
      expect(resolved.writeKey.trim()).not.toBe("");
      for (const number of [resolved.batchMessages, resolved.maxQueueMessages, resolved.maxInFlight])
        expect(Number.isSafeInteger(number) && number >= 1).toBe(true);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      expect(error.message.length).toBeGreaterThan(0);
    }
  },
});

function optionsOf(given: unknown): unknown {
  if (!Array.isArray(given)) return made(given);
  const fields = given.map(([name, value]) => [name, made(value)] as const);
  return Object.fromEntries([["writeKey", "wk_1"], ...fields]);
}

function made(value: unknown): unknown {
  return value instanceof Hostile ? value.make() : value;
}
