import { loopbackCollector } from "@sluice/testing";
import { describe, expect, it } from "vitest";
import { debugIsOn } from "../src/debug-env.js";
import { runProgram } from "./programs/run-program.js";

describe("DEBUG", () => {
  it.each<[variable: string | undefined, on: boolean]>([
    ["analytics", true],
    ["*", true],
    ["http analytics", true],
    ["http,analytics", true],
    ["ana*", true],
    ["*lytics", true],
    ["analytics*", true],
    ["*,-analytics", false],
    ["-analytics,*", false],
    ["*,-ana*", false],
    ["analytic", false],
    ["analyticsx", false],
    ["a.alytics", false],
    ["", false],
    [undefined, false],
  ])("%s: %s", (variable, on) => {
    expect(debugIsOn(variable)).toBe(on);
  });

  it("prints each request on stderr, and only the first refusal if it is not set", async () => {
    await using collector = await loopbackCollector({ faults: [{ status: 503 }] });
    const source = `const analytics = new Analytics({ writeKey: "k", host: url }); analytics.track({ userId: "u", event: "E" }); analytics.track({}); analytics.track({}); await analytics.close();`;
    const loud = await runProgram(source, { url: collector.url, env: { DEBUG: "analytics" } }).ended;
    expect(loud.stdout).toBe("");
    expect(loud.stderr).toMatch(/analytics POST .*\/v1\/batch attempt 1, 1 messages, \d+ bytes → 503/);
    expect(loud.stderr).toMatch(/attempt 2, .* → 200/);
    expect(loud.stderr).toMatch(/analytics refused .*: event_not_defined|no_user_anon_id/);
    const silent = await runProgram(source, { url: collector.url }).ended;
    expect(silent.stdout).toBe("");
    expect(silent.stderr).toMatch(
      /^\[sluice\] A message was refused, and nothing listens: no_user_anon_id: .*\n$/,
    );
  });

  it("if it is not set, only a refused write key is printed, once", async () => {
    await using collector = await loopbackCollector({ writeKey: "right" });
    const source = `const analytics = new Analytics({ writeKey: "wrong", host: url, flushAt: 1 }); for (let i = 0; i < 3; i++) analytics.track({ userId: "u", event: "E" }); await analytics.close();`;
    const { stdout, stderr } = await runProgram(source, { url: collector.url }).ended;
    expect(stdout).toBe("");
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).toContain("401");
    expect(stderr).not.toContain("wrong\n");
  });
});
