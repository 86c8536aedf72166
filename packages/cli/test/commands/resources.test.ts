import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cli, collectorForCli, receiver } from "../support/cli.js";

let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
});
afterAll(() => at[Symbol.asyncDispose]());

const json = async (args: readonly string[], expected = 0) =>
  JSON.parse((await at.sluice([...args, "--json"], expected)).out);

describe("sources, destinations, deliveries", () => {
  it("creates and changes a source, rotates its key and deletes it", async () => {
    const { id } = await json(["sources", "create", "Shop", "--kind", "web"]);
    await json(["sources", "update", "Shop", "--block", "Debug", "--rate-limit", "500"]);
    expect(await json(["sources", "get", id])).toMatchObject({ blockedEvents: ["Debug"], rateLimit: 500 });
    const rotated = await json(["sources", "rotate-key", id]);
    expect(rotated.writeKeys).toHaveLength(2);
    await at.sluice(["sources", "delete-key", id, rotated.writeKeys[0].key]);
    await at.sluice(["sources", "delete", id], 2);
    await at.sluice(["sources", "delete", id, "--yes"]);
    await at.sluice(["sources", "get", id], 5);
  });

  it("delivers to a webhook, shows, replays and tests it", async () => {
    await using hook = await receiver();
    const args = ["destinations", "create", "--webhook", hook.url, "--secret", "hush", "--name", "Hook"];
    const { id } = await json([...args, "--source", at.sourceId]);
    const { messageId } = await json(["send", "track", "--event", "Hooked"]);
    const waited = await json(["messages", "wait", messageId, "--timeout", "20s"]);
    expect(waited.outcomes).toMatchObject([{ state: "delivered", destinationId: id }]);
    expect(hook.received[0]?.headers["x-signature"]).toMatch(/^[0-9a-f]{40}$/);
    const counted = await json(["replay", "--destination", "Hook", "--message", messageId, "--dry-run"]);
    expect(counted).toEqual({ count: 1 });
    await json(["replay", "--destination", "Hook", "--message", messageId]);
    // The message is pending until it is delivered again.
    await json(["messages", "wait", messageId, "--timeout", "20s"]);
    expect(await json(["destinations", "test", "Hook"])).toMatchObject({ state: "delivered" });
    const listed = await json(["deliveries", "list", "--state", "delivered", "--destination", "Hook"]);
    expect(listed.items[0].messageId).toBe(messageId);
    await json(["destinations", "disable", id]);
    expect(await json(["destinations", "status", id])).toMatchObject({ state: "disabled" });
    await at.sluice(["destinations", "delete", id, "--yes"]);
  });

  it("connects a destination to the incidents of the collector", async () => {
    const args = ["destinations", "create", "--type", "console", "--name", "On call", "--source", "sluice"];
    const { id, sourceIds } = await json(args);
    expect(sourceIds).toEqual(["sluice"]);
    expect((await at.sluice(["destinations", "get", id])).out).toContain("sources: sluice");
    await at.sluice(["destinations", "delete", id, "--yes"]);
  });

  it("has another exit code if the test message is not delivered", async () => {
    await using hook = await receiver(404);
    const { id } = await json(["destinations", "create", "--webhook", hook.url, "--disabled"]);
    expect(await json(["destinations", "test", id], 6)).toMatchObject({ state: "failed" });
    const { out } = await at.sluice(["destinations", "test", id], 6);
    expect(out).toMatch(/^failed: HTTP 404\nsent: \{.*\nURL.*\n.* 404 +\d+ +answered 404 /);
    await at.sluice(["destinations", "delete", id, "--yes"]);
  });

  it("lists the types, and sets a destination of any type up by its schema", async () => {
    const { out } = await at.sluice(["destinations", "types"]);
    expect(out).toMatch(/[^\n]\n$/);
    expect(out).toMatch(/^file \(File\): takes messages of web, mobile, server sources$/m);
    expect(out).toMatch(/^ {2}maxFiles {2}integer, default 10 {2}Rotated files kept$/m);
    const create = ["destinations", "create", "--type", "file", "--name", "Copy"];
    const { id, settings } = await json([...create, "--set", "fileName=copy.jsonl", "maxFiles=3"]);
    expect(settings).toMatchObject({ fileName: "copy.jsonl", maxFiles: 3 });
    const changed = await json(["destinations", "update", "Copy", "--set", "maxFiles="]);
    expect(changed.settings).toMatchObject({ fileName: "copy.jsonl", maxFiles: 10 });
    const { err } = await at.sluice(["destinations", "update", "Copy", "--set", "colour=red"], 2);
    expect(err).toContain("file has no setting colour. It has fileName, maxBytes, maxFiles");
    await at.sluice(["destinations", "update", "Copy", "--set", "red"], 2);
    await at.sluice(["destinations", "delete", id, "--yes"]);
  });

  it("has another exit code if a wait times out", async () => {
    await at.sluice(["messages", "wait", "never", "--timeout", "50ms"], 7);
  });
});

describe("tokens and audit", () => {
  it("creates a read-only token and revokes it", async () => {
    const { id, token } = await json(["tokens", "create", "wall", "--access", "read"]);
    await at.sluice(["sources", "list", "--token", token]);
    await at.sluice(["sources", "create", "x", "--token", token], 4);
    const unsure = await at.sluice(["tokens", "revoke", "wall"], 2);
    expect(unsure.err).toContain("Add --yes to confirm");
    const kept = cli(["tokens", "revoke", "wall"], { env: at.env, stdin: "n\n", canAsk: true });
    expect(await kept.code).toBe(1);
    expect(kept.err()).toMatch(/Revoke the token wall .*\[y\/N\] Nothing was revoked\.\n$/);
    await at.sluice(["sources", "list", "--token", token]);
    await at.sluice(["tokens", "revoke", "wall", "--yes"]);
    await at.sluice(["sources", "list", "--token", token], 4);
    const { items } = await json(["audit", "-n", "1"]);
    expect(items).toMatchObject([{ action: "tokens.revoke", target: id }]);
  });
});
