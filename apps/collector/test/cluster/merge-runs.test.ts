import type { DeletionPlan, DeletionView, OperationView } from "@sluice/control-api";
import { describe, expect, it } from "vitest";
import { BY_CREATION } from "../../src/admin/shared-runs/shared-run.js";
import type { Owners, PartAnswer } from "../../src/cluster/gateway/ask-owners.js";
import { mergedPage } from "../../src/cluster/gateway/merge-list.js";
import {
  idOfRuns,
  mergeDeletions,
  mergeOperations,
  mergePlans,
} from "../../src/cluster/gateway/merge-runs.js";
import { runRoutes } from "../../src/cluster/gateway/run-routes.js";
import type { HttpRequest } from "../../src/http/routing/route.js";

const run = (partition: number, over: Partial<OperationView> = {}) => ({
  partition,
  view: {
    ...{ id: "op_1", kind: "retry", state: "finished", createdAt: "2026-11-23T10:00:00.000Z" },
    ...{
      createdBy: { tokenId: "t", tokenName: "t" },
      perSecond: 100,
      total: 2,
      done: 2,
      failed: 1,
      waiting: 0,
    },
    ...{ results: { delivered: 1, failed: 1, discarded: 0, skipped: 0 }, ratePerSecond: 1.5 },
    causes: [{ cause: "http_500", title: "500", count: 1 }],
    finishedAt: "2026-11-23T10:00:01.000Z",
    ...over,
  } as OperationView,
});

describe("an operation of several partitions", () => {
  it("adds counts, runs while one part does, and names the partition that failed", () => {
    const merged = mergeOperations([
      run(0),
      run(2, { state: "failed", error: "The disk is full", finishedAt: "2026-11-23T10:00:09.000Z" }),
    ]);
    expect(merged).toMatchObject({
      ...{ id: "op_1", state: "failed", error: "Partition 2: The disk is full" },
      ...{ total: 4, failed: 2, perSecond: 200, ratePerSecond: 3, finishedAt: "2026-11-23T10:00:09.000Z" },
      causes: [{ cause: "http_500", count: 2 }],
    });
    const { finishedAt: _, ...running } = run(1, { state: "running" }).view;
    const both = mergeOperations([run(0, { state: "failed" }), { partition: 1, view: running }]);
    expect([both.state, both.finishedAt]).toEqual(["running", undefined]);
  });

  it("has one id, unless its parts were started by different requests", () => {
    expect(idOfRuns([run(0), run(1)])).toBe("op_1");
    expect(idOfRuns([run(0), run(1, { id: "op_2" })])).toBe("op_1~op_2.1");
  });
});

describe("a deletion of several partitions", () => {
  it("is tried again while one part is, and names its partition", () => {
    const part = (partition: number, over: Partial<DeletionView> = {}) => ({
      partition,
      view: {
        ...{ id: "del_1", status: "finished", createdAt: "2026-11-23T10:00:00.000Z", suppress: false },
        ...over,
      } as DeletionView,
    });
    const failed = part(1, { status: "failed", error: "The disk is full" });
    const merged = { id: "del_1", status: "failed", error: "Partition 1: The disk is full" };
    expect(mergeDeletions([part(0), failed])).toMatchObject(merged);
    expect(mergeDeletions([part(0), part(1, { status: "running" })])).toMatchObject({ status: "running" });
  });
});

describe("a plan of a deletion", () => {
  it("names a source that is spread over several partitions once", () => {
    const planned = (...messagesBySource: { sourceId: string; messages: number }[]) => ({
      ...{ includeAliases: false, suppress: false },
      users: [
        {
          ...{ userId: "u", messages: 3, messagesBySource, attempts: 0, retries: 0, profile: false },
          ...{ audienceMemberships: 0, anonymousIds: [], aliases: [] },
        },
      ],
    });
    const merged = mergePlans([
      planned({ sourceId: "spread", messages: 3 }),
      planned({ sourceId: "spread", messages: 2 }, { sourceId: "other", messages: 1 }),
    ] as unknown as DeletionPlan[]);
    expect(merged.users[0]).toMatchObject({
      messages: 6,
      messagesBySource: [
        { sourceId: "spread", messages: 5 },
        { sourceId: "other", messages: 1 },
      ],
    });
  });
});

describe("an operation on deliveries", () => {
  it.each<[string, unknown[]]>([
    ["none", []],
    ["more than one operation may have", Array.from({ length: 1_001 }, (_, at) => `dst_1.${at % 2}-${at}`)],
  ])("is refused by a partition if there are %s: nothing is divided before", async (_, ids) => {
    const asked: unknown[] = [];
    const owners: Owners = {
      ...{ partitions: [0, 1], newRun: () => "", owned: async () => {} },
      async ask(partition, _request, { body }) {
        asked.push([partition, (body as { ids: unknown }).ids]);
        return { partition, status: 401, body: { code: "unauthorized" } };
      },
      stream: () => Promise.reject(new Error("not a stream")),
    };
    const start = runRoutes(owners, async () => [])[0]?.methods.POST;
    const readBody = async () => Buffer.from(JSON.stringify({ kind: "retry", ids, dryRun: true }));
    const request = { method: "POST", path: "/api/v1/operations", headers: {}, readBody };
    expect(await start?.(request as unknown as HttpRequest)).toMatchObject({ status: 401 });
    expect(asked).toEqual([[0, ids]]);
  });
});

describe("an id of several parts", () => {
  it.each<[string, string]>([
    ["a partition twice", "op_1~op_2"],
    ["another partition than the first twice", "op_1.1~op_2.1"],
    ["a partition that is not there", "op_1~op_2.2"],
    ["thousands of parts", "~".repeat(8_000)],
  ])("is of nothing if it names %s: nobody is asked", async (_, id) => {
    const ask = () => Promise.reject(new Error("asked"));
    const owners = { partitions: [0, 1], newRun: () => "", ask } as unknown as Owners;
    const show = runRoutes(owners, async () => []).find(({ path }) => path.endsWith("/operations/:id"))
      ?.methods.GET;
    const request = { method: "GET", path: `/api/v1/operations/${id}`, params: { id }, headers: {} };
    await expect(show?.(request as unknown as HttpRequest)).rejects.toMatchObject({ code: "not_found" });
  });
});

describe("a list of what several partitions run", () => {
  const at = (second: number): string => `2026-11-23T10:00:0${second}.000Z`;
  // Newest first; c and d have the same time.
  const lists = [
    [
      { id: "d", createdAt: at(3) },
      { id: "c", createdAt: at(3) },
      { id: "a", createdAt: at(1) },
    ],
    [
      { id: "d", createdAt: at(3) },
      { id: "b", createdAt: at(2) },
      { id: "a", createdAt: at(1) },
    ],
  ];
  const owners: Owners = {
    partitions: [0, 1],
    newRun: () => "",
    owned: async () => {},
    async ask(partition, _request, { path }): Promise<PartAnswer> {
      const query = new URLSearchParams(path.split("?")[1]);
      const from = Number(query.get("cursor") ?? 0);
      const to = from + Number(query.get("limit") ?? 50);
      const all = lists[partition] ?? [];
      const nextCursor = to < all.length ? { nextCursor: String(to) } : {};
      return { partition, status: 200, body: { items: all.slice(from, to), ...nextCursor } };
    },
    stream: () => Promise.reject(new Error("not a stream")),
  };

  it.each([1, 2, 3, 50])("shows each once, %i a page", async (limit) => {
    const seen: string[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const query = new URLSearchParams({ limit: String(limit), ...(cursor === "" ? {} : { cursor }) });
      const { body } = await mergedPage<{ id: string; createdAt: string }>(
        owners,
        { path: "/api/v1/operations", query } as HttpRequest,
        {
          isBefore: BY_CREATION.isBefore,
          merged: (parts) => ({
            ...parts[0]?.view,
            id: parts.map(({ view }) => view.id).join("+"),
            createdAt: "",
          }),
        },
      );
      const page = body as { items: { id: string }[]; nextCursor?: string };
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor;
    }
    expect(seen).toEqual(["d+d", "c", "b", "a+a"]);
  });
});
