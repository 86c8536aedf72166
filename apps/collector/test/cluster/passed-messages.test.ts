import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import type { Front } from "../../src/cluster/front/front.js";
import type { AskedAnswer, OwnerConnection } from "../../src/cluster/front/owner-connection.js";
import type { Target } from "../../src/cluster/front/passing.js";
import { askOwners, type Question } from "../../src/cluster/gateway/ask-owners.js";
import type { HttpRequest } from "../../src/http/routing/route.js";

const ANSWERED: AskedAnswer = { kind: "answered", status: 200, headers: {}, body: Buffer.from("{}") };
const NOT_DONE: AskedAnswer = { kind: "not done", reason: "refused" };
const LOST: AskedAnswer = { kind: "lost", reason: "reset" };

/** A gateway whose owner is `where`, and answers these one after the other. Each wait takes up the time that there is. */
function gateway(where: Target["kind"], answers: readonly AskedAnswer[]) {
  const clock = manualClock();
  const left = [...answers];
  const connection = { ask: async () => left.shift() } as unknown as OwnerConnection;
  const passed: string[] = [];
  const target = { kind: where, connection, signal: new AbortController().signal } as Target;
  const front = {
    target: () => target,
    self: () => connection,
    trouble: () => undefined,
    change: async () => clock.advance(9_000),
  } as unknown as Front;
  const owners = askOwners({
    ...{ front: () => front, token: "token", clock, partitions: 2, listener: "public" },
    onPassed: (result) => passed.push(result),
  });
  return { owners, passed };
}

const { signal } = new AbortController();
const request = { method: "POST", headers: {}, remoteAddress: "", signal } as unknown as HttpRequest;
const MESSAGES: Question = {
  path: "/v1/batch",
  messages: { body: Buffer.from("{}"), authorization: undefined, areOfPartition: true },
};

describe("messages of a spread source are counted as passed on", () => {
  it.each<[string, Target["kind"], readonly AskedAnswer[], readonly string[]]>([
    ["when another process answers", "owner", [ANSWERED], ["answered"]],
    ["when it answers to another attempt", "owner", [LOST, ANSWERED], ["repeated"]],
    ["when it never takes them", "owner", [NOT_DONE, NOT_DONE], ["no_owner"]],
    ["when it may have taken them", "owner", [LOST, LOST], ["owner_lost"]],
    ["when nobody owns the partition", "none", [], ["no_owner"]],
    ["unless this process owns the partition", "here", [ANSWERED], []],
  ])("%s", async (_, where, answers, expected) => {
    const { owners, passed } = gateway(where, answers);
    await owners.ask(1, request, MESSAGES).catch(() => {});
    expect(passed).toEqual(expected);
  });

  it("if they wait in vain for all owners to be there", async () => {
    const { owners, passed } = gateway("none", []);
    await expect(owners.owned(1, signal)).rejects.toMatchObject({ code: "no_owner" });
    expect(passed).toEqual(["no_owner"]);
  });

  it("and what the gateway asks for the control API is not", async () => {
    const { owners, passed } = gateway("owner", [ANSWERED]);
    await owners.ask(1, request, { path: "/api/v1/messages" });
    expect(passed).toEqual([]);
  });
});
