import { DOCUMENT_KINDS, type Identity, idDigest, openMemoryStore } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { describe, expect, it } from "vitest";
import type { DeletedUser, DeletionDocument, Step } from "../../src/deletions/deletion.js";
import { type DeletionFindings, findingsOf } from "../../src/deletions/other-partitions.js";
import { emptyReceipt, runStep } from "../../src/deletions/run-step.js";
import { openSuppressions } from "../../src/documents/suppressions.js";

const START = Date.parse("2026-11-23T10:00:00.000Z");
const digest = idDigest(new Uint8Array(32));

const user = (
  identity: Identity,
  sourceIds: readonly string[],
  more: Partial<DeletedUser> = {},
): DeletedUser => ({
  ...{ identity, identities: [identity], aliases: [], sourceIds },
  ...more,
});
const deletion = (users: readonly DeletedUser[], step: Step = "tell"): DeletionDocument => ({
  ...{ createdAt: new Date(START).toISOString(), suppress: false, status: "running", step, users },
  receipt: emptyReceipt(
    users.map(({ identity }) => identity),
    digest,
  ),
});

interface Elsewhere {
  readonly findings?: Record<number, DeletionFindings | Error>;
  /** Since the deletion was asked for. */
  readonly afterMs?: number;
}

const tell = (users: readonly DeletedUser[], elsewhere?: Elsewhere) => run("tell", users, elsewhere);

/** Runs a step in partition 2 of 4. `src_spread` is in all of them, `src_whole` in this one. */
async function run(
  step: "forget" | "tell",
  users: readonly DeletedUser[],
  { findings = {}, afterMs = 0 }: Elsewhere = {},
) {
  const clock = manualClock({ startMs: START + afterMs });
  const memory = openMemoryStore({ clock });
  await memory.config.put(DOCUMENT_KINDS.source, "src_spread", { partition: 0, partitions: 4 });
  await memory.config.put(DOCUMENT_KINDS.source, "src_whole", { partition: 2 });
  await memory.config.put(DOCUMENT_KINDS.destination, "dst_1", {
    ...{ type: "webhooks", enabled: true },
    connections: ["src_spread", "src_whole"].map((sourceId) => ({ sourceId, after: -1 })),
  });
  const asked: number[] = [];
  const forgotten: unknown[] = [];
  const result = await runStep(step, "del_1", deletion(users, step), {
    store: memory,
    ...{ clock, digest, builtInSourceIds: [] },
    suppressions: await openSuppressions({ store: memory, clock, digest }),
    catalog: { get: () => ({ takesDeletions: true }) } as never,
    profiles: {
      async forget(some: readonly unknown[]) {
        forgotten.push(...some);
        return [];
      },
    } as never,
    others: {
      own: { number: 2, count: 4 },
      async findings(partition) {
        asked.push(partition);
        const found = findings[partition] ?? { kind: "found", messageIds: [] };
        if (found instanceof Error) throw found;
        return found;
      },
    },
  });
  const sent = (await memory.log.find({}, { limit: 10 })).items.map(({ message }) => {
    const { userId, anonymousId, messageId } = message as Record<string, string>;
    return `${messageId} ${userId ?? anonymousId}`;
  });
  return { kind: result.kind, sent: sent.toSorted(), asked, isForgotten: forgotten.length > 0 };
}

describe("the delete message of a source that several partitions have", () => {
  const users = [user("u:u1", ["src_spread"])];
  const sent = ["del_1-0-src_spread u1"];
  const other: DeletionFindings = { kind: "found", messageIds: ["del_1-0-src_spread"] };

  it.each<[string, Record<number, DeletionFindings | Error>, number, string, readonly string[]]>([
    ["is sent if no partition before has messages", {}, 0, "done", sent],
    ["is left to a partition before", { 1: other }, 0, "done", []],
    ["is sent whatever a partition behind has", { 3: other }, 0, "done", sent],
    ["waits for a partition before that searches", { 0: { kind: "searching" } }, 99_000, "waiting", []],
    ["waits for a partition before without an owner", { 0: new Error("no owner") }, 99_000, "waiting", []],
    ["waits for the start of the deletion there", { 1: { kind: "absent" } }, 59_999, "waiting", []],
    ["is sent if the deletion never began there", { 1: { kind: "absent" } }, 60_000, "done", sent],
    ["is sent if the clock there is wrong", { 1: { kind: "absent" } }, -9_999_999, "done", sent],
  ])("%s", async (_, findings, afterMs, kind, expected) => {
    expect(await tell(users, { findings, afterMs })).toMatchObject({ kind, sent: expected });
  });

  it("asks the partitions before, and none for a source that is here only", async () => {
    expect((await tell(users)).asked).toEqual([0, 1]);
    const whole = await tell([user("u:u1", ["src_whole"])]);
    expect(whole).toMatchObject({ kind: "done", sent: ["del_1-0-src_whole u1"], asked: [] });
  });

  it("names the user to whom the ids with messages here are joined", async () => {
    const joined = [user("u:u1", ["src_spread"], { identities: ["u:u1", "a:a1"] as Identity[] })];
    expect((await tell(joined)).sent).toEqual(sent);
    const both = [user("u:u1", ["src_spread"], { identities: ["u:u1", "u:u2"] as Identity[] })];
    expect((await tell(both)).sent).toEqual(["del_1-0-src_spread u1", "del_1-0.1-src_spread u2"]);
    const visitor = [user("u:u1", []), user("a:a1", ["src_spread"])];
    expect((await tell(visitor)).sent).toEqual(["del_1-1-src_spread a1"]);
  });
});

describe("the profile, which knows what belongs to a user,", () => {
  const users = [user("u:u1", ["src_spread"])];

  it.each<[string, Record<number, DeletionFindings | Error>, number, string]>([
    ["is removed when all partitions have begun", { 3: { kind: "searching" } }, 0, "done"],
    ["waits for the start of the deletion elsewhere", { 3: { kind: "absent" } }, 599_999, "waiting"],
    ["waits for a partition without an owner", { 0: new Error("no owner") }, 599_999, "waiting"],
    ["is removed if the deletion never began elsewhere", { 3: { kind: "absent" } }, 600_000, "done"],
    ["is removed if the clock elsewhere is wrong", { 3: { kind: "absent" } }, -9_999_999, "done"],
  ])("%s", async (_, findings, afterMs, kind) => {
    const isForgotten = kind === "done";
    expect(await run("forget", users, { findings, afterMs })).toMatchObject({ kind, isForgotten });
  });
});

describe("what a partition tells the others of a deletion", () => {
  const users = [user("u:u1", ["src_a", "src_b"])];
  const found = { kind: "found", messageIds: ["del_1-0-src_a", "del_1-0-src_b"] };
  it.each<[Step, object]>([
    ["suppress", { kind: "searching" }],
    ["collect", { kind: "searching" }],
    ["purge", found],
    ["tell", found],
    ["erase", { kind: "found", messageIds: ["del_1-0-src_b"] }],
    ["done", { kind: "found", messageIds: ["del_1-0-src_b"] }],
  ])("before it has done the step %s", (step, expected) => {
    const { users: _, ...value } = deletion(users, step);
    const isTold = ["erase", "done"].includes(step);
    const deleteMessages = [{ sourceId: "src_b", messageId: "del_1-0-src_b", destinationIds: ["dst_1"] }];
    const now: DeletionDocument = isTold
      ? { ...value, receipt: { ...value.receipt, deleteMessages } }
      : { ...value, users };
    expect(findingsOf({ id: "del_1", version: 1, value: now })).toEqual(expected);
  });

  it("is that it has not begun there", () => {
    expect(findingsOf(undefined)).toEqual({ kind: "absent" });
  });
});
