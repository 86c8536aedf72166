import { afterAll, beforeAll, expect, it } from "vitest";
import { collectorForCli, receiver } from "../support/cli.js";

let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
});
afterAll(() => at[Symbol.asyncDispose]());

const json = async (args: readonly string[], expected = 0) =>
  JSON.parse((await at.sluice([...args, "--json"], expected)).out);

/** Deletes a user whose delete message one destination refuses. Resolves with the deletion's id. */
async function refused(userId: string): Promise<string> {
  const { messageId } = await json(["send", "identify", "--user", userId]);
  await at.sluice(["messages", "wait", messageId, "--timeout", "20s"]).catch(() => {});
  const { id } = await json(["deletions", "create", userId, "--yes"]);
  await expect.poll(async () => (await json(["deletions", "get", id])).status).toBe("undelivered");
  return id;
}

it("says in the receipt where the user's messages remain", async () => {
  await json([..."destinations create --type file --name Archive".split(" "), "--set", "fileName=a.jsonl"]);
  const { messageId } = await json(["send", "identify", "--user", "eve"]);
  await at.sluice(["messages", "wait", messageId, "--timeout", "20s"]);
  const { id } = await json(["deletions", "create", "eve", "--yes"]);
  await expect
    .poll(async () => (await at.sluice(["deletions", "get", id])).out)
    .toMatch(/Archive +none +Archive \(file\) keeps what it got before the deletion/);
  await json(["destinations", "delete", "Archive", "--yes"]);
});

it("sends refused delete messages again, or gives them up", async () => {
  let status = 404;
  await using hook = await receiver(() => status);
  const args = ["destinations", "create", "--webhook", hook.url, "--secret", "hush", "--name", "Warehouse"];
  await json([...args, "--source", at.sourceId]);
  const [first, second] = [await refused("ada"), await refused("bob")];

  const { err } = await at.sluice(["deletions", "give-up", second], 2);
  expect(err).toContain("--yes");
  await at.sluice(["deletions", "give-up", second, "--yes"]);
  await expect
    .poll(() => json(["deletions", "get", second]))
    .toMatchObject({
      status: "finished",
      receipt: { deleteMessages: [{ deliveries: [{ state: "failed" }] }] },
    });

  status = 200;
  await at.sluice(["deletions", "retry", first, "--destination", "Nowhere"], 5);
  await at.sluice(["deletions", "retry", first, "--destination", "Warehouse"]);
  await expect
    .poll(() => json(["deletions", "get", first]))
    .toMatchObject({
      status: "finished",
      receipt: { deleteMessages: [{ deliveries: [{ state: "sent" }] }] },
    });
  await at.sluice(["deletions", "retry", first], 1);
});
