import fc from "fast-check";
import { expect } from "vitest";
import { ConfigError, loadConfig } from "../../../../apps/collector/src/process/config.js";
import { type CollectorConfig, SETTINGS } from "../../../../apps/collector/src/process/settings.js";
import { valueTarget } from "../../engine/target.js";

const SECRET = "a-secret-admin-token";
const text = fc.oneof(
  fc.constantFrom(
    "0",
    "1",
    "65535",
    "65536",
    " 80 ",
    "1e3",
    "auto",
    "none",
    "oregon",
    "debug",
    "json",
    "a,b",
    "http://x/",
    "https://u:p@x//",
    "",
  ),
  fc.string({ unit: "binary" }),
);
const value = fc.oneof(
  text,
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom(0, 1, 86_400_000, 2 ** 53, -1, 1.5, null, true),
);
const names = Object.keys(SETTINGS) as (keyof CollectorConfig)[];
const variables = Object.values(SETTINGS).map(({ env }) => env);
const fields = fc.array(
  fc.tuple(
    fc.oneof(fc.constantFrom<string>(...names), fc.constantFrom("__proto__", "constructor", "x")),
    value,
  ),
  { maxLength: 6 },
);

export const settings = valueTarget({
  name: "settings",
  rule: "flags, variables and a file make a complete configuration or a ConfigError with a line for each problem, without secrets",
  runs: 1_000,
  values: fc.record({
    flags: fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 3, noNullPrototype: true }),
    env: fc.dictionary(fc.constantFrom(...variables), text, { maxKeys: 4 }),
    file: fc.oneof(
      fields.map((all) => JSON.stringify(Object.fromEntries(all))),
      fc.json(),
      fc.string(),
    ),
  }),
  check({ flags, env, file }) {
    try {
      const config = loadConfig({ flags, env, file: "sluice.json", readFile: () => file });
      expect(Object.keys(config).sort()).toEqual([...names].sort());
      for (const name of names) {
        const setting = SETTINGS[name];
        const kept = config[name];
        if (kept !== setting.default && kept !== undefined) expect(setting.parse(kept), name).toEqual(kept);
      }
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      expect(error.problems.length).toBeGreaterThan(0);
      expect(error.message).not.toContain(SECRET);
    }
  },
});
