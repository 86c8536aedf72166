import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { checkNode } from "../../src/sqlite/database/check-node.js";

describe("checkNode", () => {
  test.each(["22.13.0", "22.14.1", "23.0.0", "24.21.0", "100.0.0"])("accepts %s", (version) => {
    expect(() => checkNode(version)).not.toThrow();
  });
  test.each(["20.20.2", "22.12.9", "22.5.0", "18.0.0", "8.17.0"])(
    "refuses %s with a clear message",
    (version) => {
      expect(() => checkNode(version)).toThrow(`needs Node.js 22.13 or newer, and this is ${version}`);
    },
  );
  test("requires the version in the collector's package.json", () => {
    const manifest = new URL("../../../../apps/collector/package.json", import.meta.url);
    const { engines } = JSON.parse(readFileSync(manifest, "utf8"));
    expect(() => checkNode(engines.node.replace(">=", ""))).not.toThrow();
    expect(() => checkNode("22.12.0")).toThrow(engines.node.replace(">=", ""));
  });
});
