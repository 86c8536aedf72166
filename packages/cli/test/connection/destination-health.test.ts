import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import type { DestinationStatusView } from "@sluice/control-api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkDestination } from "../../src/commands/doctor/destination-checks.js";
import { healthOf } from "../../src/connection/destination-health.js";
import { collectorForCli, receiver } from "../support/cli.js";

const STATUS: DestinationStatusView = {
  destinationId: "d",
  state: "delivering",
  health: "good",
  reason: "The last delivery succeeded",
  urls: [],
  behind: 0,
  retries: 0,
  waiting: 0,
};

describe("the health of a destination", () => {
  it.each([
    ["good", "delivering"],
    ["idle", "delivering"],
    ["failing", "failing"],
    ["url_disabled", "url_disabled"],
    ["partly_disabled", "partly_disabled"],
    ["backing_off", "backing_off"],
    ["disabled", "disabled"],
    ["behind", "behind"],
    ["retrying", "retrying"],
    ["partly_failing", "partly_failing"],
  ] as const)("that the collector calls %s is %s", (health, state) => {
    expect(healthOf({ ...STATUS, health }, []).state).toBe(state);
  });

  it("has the time of the first retry, unless there is a probe", () => {
    const retriesAt = ["2026-01-01T01:00:00.000Z", "2026-01-01T00:30:00.000Z"];
    expect(healthOf(STATUS, retriesAt).nextAttemptAt).toBe("2026-01-01T00:30:00.000Z");
    const nextAttemptAt = "2026-01-01T02:00:00.000Z";
    expect(healthOf({ ...STATUS, nextAttemptAt }, retriesAt).nextAttemptAt).toBe(nextAttemptAt);
    expect(healthOf(STATUS, [])).not.toHaveProperty("nextAttemptAt");
    expect(healthOf({ ...STATUS, health: "disabled" }, retriesAt)).not.toHaveProperty("nextAttemptAt");
  });
});

it.each([
  ["good", "ok"],
  ["idle", "ok"],
  ["disabled", "skipped"],
  ["behind", "warning"],
  ["retrying", "warning"],
  ["partly_failing", "problem"],
  ["failing", "problem"],
  ["backing_off", "problem"],
  ["url_disabled", "problem"],
  ["partly_disabled", "problem"],
] as const)("sluice doctor reports a destination that is %s as %s", (health, result) => {
  const one = { ...STATUS, health, state: "delivering" as const, disabledUrls: [] };
  expect(checkDestination("Hook", one).result).toBe(result);
});

it.each([
  ["disabled", { behind: 105_111, waiting: 0 }, "Hook: disabled; nothing is waiting"],
  ["disabled", { behind: 9, waiting: 7 }, "Hook: disabled; 7 messages wait until you enable it"],
  ["backing_off", { waiting: 61, retries: 59 }, /: down; .*61 messages wait, 59 of them for a retry/],
  ["behind", { waiting: 9, reason: "9 messages wait" }, "Hook: behind; 9 messages wait"],
] as const)("sluice doctor says what waits for one that is %s", (health, counts, message) => {
  const one = { ...STATUS, reason: "It fails", ...counts, health, state: "delivering" as const };
  expect(checkDestination("Hook", { ...one, disabledUrls: [] }).message).toEqual(
    typeof message === "string" ? message : expect.stringMatching(message),
  );
});

it("the hints of sluice doctor quote the destination's name for a shell", () => {
  const { hint } = checkDestination("My hook", {
    ...STATUS,
    health: "failing",
    state: "failing",
    disabledUrls: [],
  });
  expect(hint).toContain("npx sluice destinations test 'My hook'");
});

describe("against a collector", () => {
  let at: Awaited<ReturnType<typeof collectorForCli>>;
  beforeAll(async () => {
    at = await collectorForCli();
  });
  afterAll(() => at[Symbol.asyncDispose]());
  const json = async (args: readonly string[], expected = 0) =>
    JSON.parse((await at.sluice([...args, "--json"], expected)).out);

  it("doctor says that there are no destinations", async () => {
    expect((await at.sluice(["doctor"])).out).toContain("messages are stored but not delivered");
  });

  it.each([
    ["failing", 404, "failed", "failing"],
    ["waiting", 503, "pending", "failing"],
    ["gone", 410, "failed", "URL disabled"],
  ] as const)("status and doctor see a destination that is %s", async (name, answer, ends, word) => {
    await using hook = await receiver(answer);
    const { id } = await json(["destinations", "create", "--webhook", hook.url, "--name", name]);
    const { messageId } = await json(["send", "track", "--event", "Paid"]);
    // A message is also `pending` before its first attempt, so the test waits for the last error.
    await json(["messages", "wait", messageId, "--destination", id, "--state", ends, "--timeout", "20s"]);
    const status = async () => (await at.sluice(["destinations", "status", name])).out;
    let shown = await status();
    while (!shown.includes(word)) shown = await status();
    expect(shown).toContain("\nlastError: ");
    const health = await json(["destinations", "status", name]);
    expect(health.lastError).toContain(String(answer));
    expect(health.disabledUrls).toEqual(answer === 410 ? [hook.url] : []);
    expect(health.retries).toBe(ends === "pending" ? 1 : 0);
    if (ends === "pending") expect(health.nextAttemptAt).toMatch(/^20/);
    const { out, err } = await at.sluice(["doctor"], 6);
    expect(out).toMatch(new RegExp(`✗ destination +${name}: ${word} since .*; .*last error: .*${answer}`));
    expect(err).toContain("1 problem found");
    await at.sluice(["destinations", "delete", id, "--yes"]);
  });

  it("doctor finds no problem with a destination that delivers", async () => {
    await using hook = await receiver();
    const { id } = await json(["destinations", "create", "--webhook", hook.url, "--name", "Well"]);
    const { messageId } = await json(["send", "track", "--event", "Paid"]);
    await json(["messages", "wait", messageId, "--timeout", "20s"]);
    expect((await at.sluice(["doctor"])).out).toContain("Well: delivering; nothing is waiting");
    await at.sluice(["destinations", "delete", id, "--yes"]);
  });

  it("create, get and update show settings without secrets, and the next command", async () => {
    const args = ["destinations", "create", "--webhook", "https://example.com/hook", "--name", "My hook"];
    const secrets = ["--secret", "hush", "--header", "Authorization: Bearer xyz"];
    const created = await at.sluice([...args, ...secrets]);
    expect(created.out).toMatch(/^NAME .*\nMy hook +idle +webhooks +https:\/\/example.com\/hook /);
    expect(created.err).toBe("Try it: npx sluice destinations test 'My hook'\n");
    const shown = (await at.sluice(["destinations", "get", "My hook"])).out;
    expect(shown).toContain("- url: https://example.com/hook\n");
    expect(shown).toContain("Authorization: ");
    expect(shown).toContain("sharedSecretSet: yes\n");
    expect(created.out + shown).not.toMatch(/hush|xyz/);
    await at.sluice(["destinations", "update", "My hook", "--no-secret"]);
    expect((await at.sluice(["destinations", "get", "My hook"])).out).toContain("sharedSecretSet: no\n");
    await at.sluice(["destinations", "delete", "My hook", "--yes"]);
  });

  it("--batch, --batch-age and --no-batch set batches", async () => {
    const args = [
      "destinations",
      "create",
      "--disabled",
      "--name",
      "Many",
      "--webhook",
      "http://127.0.0.1:9/",
    ];
    const made = await json([...args, "--batch", "100", "--batch-age", "5s"]);
    expect(made.settings.batch).toEqual({ maxMessages: 100, maxAgeMs: 5_000 });
    const update = ["destinations", "update", "Many"];
    const { settings } = await json([...update, "--set", 'batch={"maxMessages":7}']);
    expect(settings.batch).toEqual({ maxMessages: 7, maxAgeMs: 5_000 });
    expect((await json([...update, "--no-batch"])).settings).not.toHaveProperty("batch");
  });

  it("--ca-file sets caFile, and a missing file is refused", async () => {
    const file = join(at.directory, "authority.pem");
    await writeFile(file, rootCertificates[0] ?? "");
    const args = ["destinations", "create", "--webhook", "https://example.com/", "--name", "Tls"];
    expect((await json([...args, "--ca-file", file])).settings.caFile).toBe(file);
    await at.sluice(["destinations", "update", "Tls", "--ca-file", "/nowhere.pem"], 2);
    await at.sluice(["destinations", "delete", "Tls", "--yes"]);
  });
});
