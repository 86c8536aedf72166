import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { judgeProxy } from "../../src/commands/doctor/address-checks.js";
import {
  checkAudiences,
  checkClock,
  checkDisk,
  checkLimits,
  checkVersions,
} from "../../src/commands/doctor/collector-checks.js";
import { checkDataFolder, checkFreeSpace, checkNode } from "../../src/commands/doctor/machine-checks.js";

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
  expect(checkFreeSpace(bytes, "at /data on this machine").result).toBe(result);
});

it("judges the collector's disk by the collector's own threshold", () => {
  const disk = { freeBytes: 5 * 1_073_741_824, totalBytes: 400e9, lowBelowBytes: 20e9 };
  const message = "5.0 GB free on the collector's disk";
  expect(checkDisk(disk)).toEqual([{ name: "disk", result: "warning", message }]);
  expect(checkDisk({ ...disk, lowBelowBytes: 1e9 })).toEqual([{ name: "disk", result: "ok", message }]);
  expect(checkDisk(undefined)).toEqual([]);
});

it.each([
  ["http://127.0.0.1:8787", "http://127.0.0.1:8787", "ok"],
  ["https://events.example.com", "https://events.example.com", "ok"],
  ["http://127.0.0.1:8787", "https://events.example.com", "ok"],
  ["https://events.example.com", "http://events.example.com", "problem"],
  ["https://events.example.com", "http://127.0.0.1:8787", "problem"],
  ["http://events.example.com", "http://localhost:8787", "problem"],
])("judges a collector at %s that tells browsers %s: %s", (asked, told, result) => {
  expect(judgeProxy(new URL(asked), new URL(`${told}/v1`)).result).toBe(result);
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

it.each([
  [{ messagesPerSecond: {} }, "warning", /^messages are kept forever; no rate limits$/],
  [
    {
      retentionMs: 2_592_000_000,
      retentionBytes: 53_687_091_200,
      messagesPerSecond: { server: 50_000, web: 10_000 },
    },
    "ok",
    /^messages are kept for at most 30d or 50\.0 GB; a source may send: server 50000\/s, web 10000\/s$/,
  ],
] as const)("reports the limits %j", (limits, result, message) => {
  expect(checkLimits(limits)).toMatchObject({
    name: "limits",
    result,
    message: expect.stringMatching(message),
  });
});

it("says whether the data folder can be written", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-doctor-"));
  try {
    expect(await checkDataFolder(folder)).toMatchObject({
      result: "ok",
      message: expect.stringContaining("is writable"),
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
