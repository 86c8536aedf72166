import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import type { DeletionView } from "@sluice/control-api";
import { describe, expect, it } from "vitest";
import type { Owners, PartAnswer } from "../../src/cluster/gateway/ask-owners.js";
import { gatewayRoutes } from "../../src/cluster/gateway/gateway-routes.js";
import { mergeDeletions } from "../../src/cluster/gateway/merge-runs.js";
import { partitionOfMessages } from "../../src/cluster/gateway/partition-of.js";
import { joinIds } from "../../src/cluster/gateway/qualified-ids.js";
import { runRoutes } from "../../src/cluster/gateway/run-routes.js";
import type { HttpRequest } from "../../src/http/routing/route.js";

describe("the partition of messages whose write key is in the body", () => {
  const sources = {
    hasSpread: false,
    placeOf: (key: string) => (key === "key" ? { sourceId: "s", partition: 3 } : undefined),
    placeOfSource: () => undefined,
    refresh: async () => {},
  };
  const body = Buffer.from('{"writeKey":"key","batch":[]}');

  it.each<[name: string, encoding: string | undefined, bytes: Uint8Array, partition: number]>([
    ["plain", undefined, body, 3],
    ["gzip", "gzip", gzipSync(body), 3],
    ["gzip in capitals", " GZIP", gzipSync(body), 3],
    ["gzip that nothing names", undefined, gzipSync(body), 3],
    ["deflate", "deflate", deflateSync(body), 3],
    ["raw deflate", "deflate", deflateRawSync(body), 3],
    ["brotli", "br", brotliCompressSync(body), 3],
    ["an unknown encoding", "zstd", body, 0],
    ["damaged data", "gzip", body, 0],
  ])("%s", async (_name, encoding, bytes, partition) => {
    const headers = encoding === undefined ? {} : { "content-encoding": encoding };
    expect(await partitionOfMessages({ url: "/v1/batch", headers }, bytes, sources)).toBe(partition);
  });
});

describe("a wait that ends without the wanted state", () => {
  const timedOut = (partition: number, now: object | null): PartAnswer => ({
    ...{ partition, status: 408 },
    body: { success: false, code: "wait_timed_out", now },
  });

  it.each<[string, readonly PartAnswer[], object]>([
    ["nobody has the message", [timedOut(0, null), timedOut(1, null)], { now: null }],
    [
      "a partition has the message",
      [timedOut(0, null), timedOut(1, { messageId: "m-1" })],
      { now: { messageId: "m-1" } },
    ],
  ])("if %s", async (_, answers, expected) => {
    const owners = {
      partitions: answers.map(({ partition }) => partition),
      ask: async (partition: number) => answers[partition],
    } as unknown as Owners;
    const route = gatewayRoutes(owners, async () => []).find(({ path }) => path === "/api/v1/wait");
    const request = {
      ...{ method: "GET", path: "/api/v1/wait", query: new URLSearchParams("messageId=m-1") },
      signal: new AbortController().signal,
    } as unknown as HttpRequest;
    expect(await route?.methods.GET?.(request)).toMatchObject({ status: 408, body: expected });
  });
});

describe("a deletion in several partitions", () => {
  const view = (status: DeletionView["status"], step: string): DeletionView => ({
    ...{ id: "del_1", status, step, createdAt: "2026-11-23T00:00:00.000Z", userCount: 1 },
    ...{ suppress: false, includeAliases: false },
  });

  it.each<[statuses: readonly (readonly [DeletionView["status"], string])[], step: string]>([
    [
      [
        ["running", "trace"],
        ["running", "purge"],
        ["finished", "done"],
      ],
      "purge",
    ],
    [
      [
        ["finished", "done"],
        ["running", "trace"],
      ],
      "trace",
    ],
    [
      [
        ["finished", "done"],
        ["finished", "done"],
      ],
      "done",
    ],
  ])("is in the step of the slowest: %j is %s", (parts, step) => {
    const runs = parts.map(([status, one], partition) => ({ partition, view: view(status, one) }));
    expect(mergeDeletions(runs).step).toBe(step);
  });

  /** What the gateway answers to a retry, if the owners answer this. */
  async function retried(answers: readonly Pick<PartAnswer, "status" | "body">[]) {
    const owners: Owners = {
      partitions: answers.map((_, number) => number),
      ask: async (partition) => ({ ...(answers[partition] as PartAnswer), partition }),
      newRun: () => "a run",
      owned: async () => {},
      stream: () => Promise.reject(new Error("nothing streams")),
    };
    const id = joinIds(answers.map((_, partition) => ({ partition, id: "del_1" })));
    const route = runRoutes(owners, async () => []).find(({ path }) => path.endsWith("/deletions/:id/retry"));
    const request = {
      ...{ method: "POST", path: `/api/v1/deletions/${id}/retry`, params: { id } },
      readBody: async () => new Uint8Array(0),
    } as unknown as HttpRequest;
    return route?.methods.POST?.(request);
  }
  const refusal = (code: string) => ({ status: 409, body: { success: false, code } });

  it("is refused with what hinders it, and not with what other partitions have nothing of", async () => {
    const conflict = refusal("conflict");
    expect(await retried([conflict, refusal("url_disabled"), conflict])).toMatchObject(
      refusal("url_disabled"),
    );
    expect(await retried([conflict, conflict])).toMatchObject(conflict);
    const accepted = { status: 202, body: view("running", "trace") };
    expect(await retried([conflict, accepted])).toMatchObject({ status: 202, body: { step: "trace" } });
  });

  it("names the aliases of its users in the first answer only, as one collector does", async () => {
    const aliases = [{ userId: "new", aliases: ["old"] }];
    const body = { ...view("initialized", "collect"), aliases };
    const begun = new Set<number>();
    const owners: Owners = {
      partitions: [0, 1],
      async ask(partition, _request, { method, body: asked }) {
        if (method === "GET") return { partition, status: begun.has(partition) ? 200 : 404, body };
        if ((asked as { readonly dryRun?: boolean }).dryRun === true)
          return { partition, status: 200, body: { dryRun: true, users: [] } };
        begun.add(partition);
        return { partition, status: 201, body };
      },
      newRun: () => "a run",
      owned: async () => {},
      stream: () => Promise.reject(new Error("nothing streams")),
    };
    const route = runRoutes(owners, async () => []).find(({ path }) => path.endsWith("/deletions"));
    const request = {
      ...{ method: "POST", path: "/api/v1/deletions", headers: { "idempotency-key": "key-1" } },
      readBody: async () => Buffer.from('{"userIds":["new"],"includeAliases":true}'),
    } as unknown as HttpRequest;
    expect(await route?.methods.POST?.(request)).toMatchObject({ status: 201, body: { aliases } });
    const again = await route?.methods.POST?.(request);
    expect(again).toMatchObject({ status: 201, body: { id: "del_1" } });
    expect(again?.body).not.toHaveProperty("aliases");
  });
});
