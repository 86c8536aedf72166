import { expect, it } from "vitest";
import { checkAudiences, checkClock, checkVersions } from "../../src/commands/doctor/collector-checks.js";
import { checkFreeSpace, checkNode } from "../../src/commands/doctor/machine-checks.js";

it.each([
  ["20.20.2", "problem"],
  ["22.12.0", "problem"],
  ["22.13.0", "ok"],
  ["24.0.0", "ok"],
])("reports Node.js %s as %s", (version, result) => {
  expect(checkNode(version).result).toBe(result);
});

it.each([
  ["equal", 1_000, 1_000, 1_000, "ok"],
  ["a little off", 4_000, 1_000, 1_000, "ok"],
  ["behind by ten seconds", -9_000, 1_000, 1_000, "problem"],
  ["off by less than the request took", 10_000, 1_000, 9_000, "ok"],
] as const)("compares clocks that are %s", (_name, collectorMs, sentMs, receivedMs, result) => {
  expect(checkClock(collectorMs, sentMs, receivedMs).result).toBe(result);
});

it.each([
  [10, "problem"],
  [500 * 1_048_576, "warning"],
  [5 * 1_073_741_824, "ok"],
] as const)("reports %i bytes of free disk as %s", (bytes, result) => {
  expect(checkFreeSpace(bytes, "/data").result).toBe(result);
});

it("warns about a different major version", () => {
  expect(checkVersions("1.2.3", "1.9.0").result).toBe("ok");
  expect(checkVersions("2.0.0", "1.9.0").result).toBe("warning");
});

it("names the messages that audiences leave out, and what to do", () => {
  const receivedAt = "2026-11-21T09:30:00.000Z";
  expect(checkAudiences({ behind: 0, setAside: [] })).toMatchObject({ result: "ok" });
  const one = { messageId: "m 21", sourceId: "src_1", receivedAt, messages: 1 };
  const check = checkAudiences({
    behind: 3,
    setAside: [one, { sourceId: "src_2", receivedAt, messages: 4 }],
  });
  expect(check.result).toBe("problem");
  expect(check.message).toBe(
    "5 messages were left out because evaluating failed, first message m 21 of source src_1",
  );
  expect(check.hint).toContain("npx sluice messages get 'm 21'");
  const request = checkAudiences({ behind: 0, setAside: [{ sourceId: "src_2", receivedAt, messages: 4 }] });
  expect(request.message).toContain("an unreadable request of source src_2");
});
