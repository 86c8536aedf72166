import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import type { Explanation } from "@sluice/control-api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { durationText } from "../../src/arguments.js";
import { explanationLines } from "../../src/commands/resources/extras.js";
import { cli, collectorForCli, receiver } from "../support/cli.js";

/** Errors and texts for people. */
let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
});
afterAll(() => at[Symbol.asyncDispose]());

const json = async (args: readonly string[], expected = 0) =>
  JSON.parse((await at.sluice([...args, "--json"], expected)).out);

it.each([
  ["a state that cannot be replayed", ["replay", "--destination", "x", "--state", "pending"], "delivered"],
  ["an unknown type", ["messages", "list", "type:tarck"], "`type` must be one of identify, track"],
  ["an invalid time", ["send", "track", "--event", "a", "--timestamp", "tomorrow"], "got tomorrow"],
  ["a time that is only a number", ["send", "track", "--event", "a", "--timestamp", "7"], "got 7"],
])("refuses %s", async (_name, args, words) => {
  expect((await at.sluice(args, 2)).err).toContain(words);
});

it("accepts the start of a type, and a date without a time", async () => {
  await at.sluice(["messages", "list", "type:tr*"]);
  await at.sluice(["send", "track", "--event", "a", "--timestamp", "2026-11-21"]);
});

describe("a destination whose URL responded with 410", () => {
  it("is not retried by hand; enabling it sends to the URL again, with its headers", async () => {
    let status = 410;
    await using gone = await receiver(() => status);
    const made = ["destinations", "create", "--name", "Gone", "--webhook", gone.url, "--header", "X-Key: k"];
    const { id } = await json([...made, "--success", "each", "--order", "user", "--payload", "classic"]);
    expect((await json(["destinations", "get", "Gone"])).settings).toMatchObject({
      success: "each",
      order: "user",
      payload: "classic",
    });
    const { messageId } = await json(["send", "track", "--event", "Lost"]);
    await at.sluice(["messages", "wait", messageId, "--state", "failed", "--destination", id]);
    const { items } = await json(["deliveries", "list", "--destination", "Gone", "--state", "failed"]);
    const { err } = await at.sluice(["deliveries", "retry", items[0].id], 1);
    expect(err).toContain(`Nothing can be sent to Gone: all its URLs answered 410 Gone`);
    expect(err).toContain(gone.url);
    expect((await at.sluice(["replay", "--destination", "Gone", "--dry-run"], 1)).err).toBe(err);
    expect(err).toContain("npx sluice destinations enable Gone");

    status = 200;
    await at.sluice(["destinations", "enable", "Gone"]);
    await at.sluice(["deliveries", "retry", items[0].id]);
    await at.sluice(["messages", "wait", messageId, "--destination", id, "--timeout", "20s"]);
    expect(gone.received.at(-1)?.headers["x-key"]).toBe("k");
    await at.sluice(["destinations", "delete", id, "--yes"]);
  });
});

it("does not wait for a disabled destination that is retried, and names the cure", async () => {
  await using down = await receiver(() => 400);
  await json(["destinations", "create", "--name", "Off", "--webhook", down.url]);
  const { messageId } = await json(["send", "track", "--event", "Lost"]);
  await at.sluice(["messages", "wait", messageId, "--state", "failed", "--destination", "Off"]);
  await at.sluice(["destinations", "disable", "Off"]);
  const { err } = await at.sluice(["deliveries", "retry", "--destination", "Off"], 1);
  expect(err).toContain("Nothing can be sent to Off: it is disabled. Enable it, then retry");
  expect(err).toContain("npx sluice destinations enable Off");
  await at.sluice(["destinations", "delete", "Off", "--yes"]);
});

it("sends or skips more than 1,000 waiting messages without a terminal only if told to", async () => {
  await using down = await receiver(() => 503);
  const { id } = await json(["destinations", "create", "--name", "Down", "--webhook", down.url]);
  const headers = { authorization: `Basic ${btoa(`${at.env.SLUICE_WRITE_KEY}:`)}` };
  for (let part = 0; part < 11; part++) {
    const batch = Array.from({ length: 100 }, (_, index) => ({
      ...{ type: "track", event: "Waiting", userId: "u1", messageId: `waiting-${part}-${index}` },
    }));
    const body = JSON.stringify({ batch });
    expect((await fetch(`${at.env.SLUICE_URL}/v1/batch`, { method: "POST", headers, body })).status).toBe(
      200,
    );
  }
  await expect.poll(async () => (await json(["destinations", "status", id])).waiting).toBe(1_100);
  await at.sluice(["destinations", "disable", id]);
  const refused = cli(["destinations", "enable", id], { env: at.env });
  expect(await refused.code).toBe(2);
  expect(refused.err()).toContain("add --send-backlog to send them, or --skip-backlog to skip them");
  expect((await json(["destinations", "get", id])).enabled).toBe(false);
  expect((await at.sluice(["destinations", "enable", id, "--send-backlog"])).err).toContain(
    "will be sent now",
  );
  await at.sluice(["destinations", "delete", id, "--yes"]);
});

it("asks before it enables a destination for which messages wait, and can skip them", async () => {
  let status = 503;
  await using slow = await receiver(() => status);
  const { id } = await json(["destinations", "create", "--name", "Slow", "--webhook", slow.url]);
  const { messageId } = await json(["send", "track", "--event", "Late"]);
  await expect.poll(async () => (await json(["destinations", "status", id])).retries).toBe(1);
  await at.sluice(["destinations", "disable", id]);
  const asked = cli(["destinations", "enable", id], { env: at.env, stdin: "n\n", canAsk: true });
  expect(await asked.code).toBe(1);
  expect(asked.err()).toContain("1 message waited for Slow and will be sent now (--skip-backlog skips them)");
  expect((await json(["destinations", "get", id])).enabled).toBe(false);
  const before = slow.received.length;
  status = 200;
  const skipping = await at.sluice(["destinations", "enable", id, "--skip-backlog"]);
  expect(skipping.err).toContain("1 message will be skipped");
  await at.sluice([
    "messages",
    "wait",
    messageId,
    "--state",
    "skipped",
    "--destination",
    id,
    "--timeout",
    "20s",
  ]);
  expect(slow.received.length).toBe(before);
  await at.sluice(["destinations", "disable", id]);
  expect((await at.sluice(["destinations", "enable", id])).err).toBe("");
  await at.sluice(["destinations", "delete", id, "--yes"]);
});

it("names the destination instead of its id when a wait fails", async () => {
  await using broken = await receiver(404);
  const { id } = await json(["destinations", "create", "--name", "Broken", "--webhook", broken.url]);
  const { messageId } = await json(["send", "track", "--event", "In vain"]);
  const { err } = await at.sluice(["messages", "wait", messageId, "--destination", "Broken"], 8);
  expect(err).toContain("Broken");
  expect(err).not.toContain(id);
  await at.sluice(["destinations", "delete", id, "--yes"]);
});

it("a key that already exists is invalid input", async () => {
  const create = (name: string) => ["traits", "create", name, "--kind", "count", "--event", "Paid"];
  await at.sluice(create("Times paid"));
  expect((await at.sluice(create("Times paid"), 2)).err).toContain("times_paid");
});

it("a dry run with changes is not printed as an error", async () => {
  const file = join(at.directory, "found.config.json");
  await writeFile(file, JSON.stringify({ sources: [{ name: "Found" }] }));
  expect((await at.sluice(["apply", file, "--dry-run"], 6)).err).toBe("1 change would be made\n");
});

it("a second collector on a data folder says what to do", async () => {
  const second = cli(["collector", "--port", "0", "--data-dir", join(at.directory, ".sluice")]);
  expect(await second.code).toBe(1);
  expect(second.err()).toMatch(/The data folder .* is in use by another process/);
  expect(second.err()).toContain("Stop the collector that uses it first");
  expect(second.err()).not.toContain("cannot be written");
});

it.each(["collector", "dev"])(
  "sluice %s on a used port names the address and how to choose another",
  async (command) => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const dataDir = join(at.directory, `used-port-${command}`);
    const running = cli([command, "--port", String(port), "--host", "127.0.0.1", "--data-dir", dataDir]);
    expect(await running.code).toBe(1);
    await new Promise((resolve) => other.close(resolve));
    expect(running.err()).toContain(
      `error: The address 127.0.0.1:${port} is already in use by another process\nhint: Choose another port with --port; --port 0 takes any free one`,
    );
    expect(running.err()).not.toContain("EADDRINUSE");
  },
);

it("durations use the largest unit without a fraction", () => {
  expect([604_800_000, 5_400_000, 1_500, 0].map(durationText)).toEqual(["7d", "90m", "1500ms", "0d"]);
  const seen = { kind: "event", event: "Paid", times: { atLeast: 1 }, seen: 0, orMore: false, holds: false };
  expect(explanationLines({ ...seen, withinMs: 604_800_000 } as unknown as Explanation)).toContain(
    "within 7d",
  );
});
