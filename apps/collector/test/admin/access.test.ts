import { StorageUnavailable } from "@sluice/event-log";
import { memoryConfigStore } from "@sluice/event-log/testing";
import { describe, expect, it } from "vitest";
import { waitAfter } from "../../src/tokens/guess-limit.js";
import { openTokens } from "../../src/tokens/tokens.js";
import { controlApi } from "./control-api.js";

describe("access to the control API", () => {
  it("needs a token", async () => {
    await using api = await controlApi();
    const none = await api.ask("GET", "/api/v1/sources", undefined, { token: "" });
    expect(none.status).toBe(401);
    expect(none.headers["www-authenticate"]).toContain("Bearer");
    expect((await api.ask("GET", "/api/v1/sources", undefined, { token: "wrong" })).status).toBe(401);
  });

  it("keeps only a hash of a token", async () => {
    await using api = await controlApi();
    const made = await api.ask("POST", "/api/v1/tokens", { name: "ci", access: "read" });
    expect(made.status).toBe(201);
    for (const kind of ["token", "audit", "idempotency"])
      expect(JSON.stringify(await api.store.config.list(kind))).not.toContain(made.body.token);
    expect(JSON.stringify((await api.ask("GET", "/api/v1/tokens")).body)).not.toContain(made.body.token);
  });

  it("lets a read token read and nothing else", async () => {
    await using api = await controlApi();
    const { body: made } = await api.ask("POST", "/api/v1/tokens", { name: "ci", access: "read" });
    const options = { token: made.token };
    expect((await api.ask("GET", "/api/v1/sources", undefined, options)).status).toBe(200);
    const refused = await api.ask("POST", "/api/v1/sources", { name: "x" }, options);
    expect(refused).toMatchObject({ status: 403, body: { code: "forbidden" } });
  });

  it("shows a read token no write key, and nothing else that is secret", async () => {
    await using api = await controlApi();
    const { body: made } = await api.ask("POST", "/api/v1/tokens", { name: "ci", access: "read" });
    const { body: source } = await api.ask("POST", "/api/v1/sources", { name: "Shop" });
    const key: string = source.writeKeys[0].key;
    const options = { token: made.token };
    const own = await api.ask("GET", `/api/v1/sources/${source.id}`, undefined, options);
    expect(own.body.writeKeys).toEqual([
      { key: `${key.slice(0, "oregon_".length + 4)}…`, createdAt: expect.any(String), isMasked: true },
    ]);
    await api.ask("POST", `/api/v1/sources/${source.id}/write-keys`);
    await api.ask("DELETE", `/api/v1/sources/${source.id}/write-keys/${key}`);
    const { body: now } = await api.ask("GET", `/api/v1/sources/${source.id}`);
    for (const path of ["sources", `sources/${source.id}`, "tokens", "audit", "info", "destinations"]) {
      const answer = await api.ask("GET", `/api/v1/${path}`, undefined, options);
      expect(answer.status).toBe(200);
      for (const secret of [key, now.writeKeys[0].key, made.token, api.token])
        expect(JSON.stringify(answer.body)).not.toContain(secret);
    }
  });

  it("refuses a revoked token", async () => {
    await using api = await controlApi();
    const { body: made } = await api.ask("POST", "/api/v1/tokens", { name: "ci" });
    expect((await api.ask("DELETE", `/api/v1/tokens/${made.id}`)).status).toBe(204);
    expect((await api.ask("GET", "/api/v1/sources", undefined, { token: made.token })).status).toBe(401);
    expect((await api.ask("DELETE", `/api/v1/tokens/${made.id}`)).status).toBe(404);
  });

  it("does not let a token revoke itself", async () => {
    await using api = await controlApi();
    const { body: made } = await api.ask("POST", "/api/v1/tokens", { name: "ci" });
    const answer = await api.ask("DELETE", `/api/v1/tokens/${made.id}`, undefined, { token: made.token });
    expect(answer.status).toBe(409);
  });

  it("revokes nothing when the store fails", async () => {
    await using api = await controlApi();
    const failing = await openTokens({
      config: {
        ...memoryConfigStore(),
        delete: () => Promise.reject(new StorageUnavailable("the disk is full")),
      },
    });
    const { view, token } = await failing.create("ci", "full");
    await expect(failing.revoke(view.id)).rejects.toThrow("the disk is full");
    expect(failing.verify(token)).toEqual(view);
    expect(api.tokens.verify(token)).toBeUndefined();
  });

  it("does not revoke the token that the operator set", async () => {
    const tokens = await openTokens({ config: memoryConfigStore(), configured: "operators-own" });
    await using api = await controlApi({ tokens });
    const { token: other } = await tokens.create("ci", "full");
    const options = { token: other };
    expect(await api.ask("DELETE", "/api/v1/tokens/configured", undefined, options)).toMatchObject({
      status: 409,
      body: { code: "conflict", message: expect.stringContaining("adminToken") },
    });
    expect((await api.ask("GET", "/api/v1/tokens", undefined, options)).body.items).toHaveLength(2);
    expect((await api.ask("GET", "/api/v1/sources", undefined, { token: "operators-own" })).status).toBe(200);
  });

  it("has no such token to revoke where the operator set none", async () => {
    await using api = await controlApi();
    expect((await api.ask("DELETE", "/api/v1/tokens/configured")).status).toBe(404);
  });

  it("slows an address that guesses, but never refuses a right token", async () => {
    await using api = await controlApi();
    const guess = (token: string, address: string) =>
      api.ask("GET", "/api/v1/sources", undefined, { token, address });
    const statuses: number[] = [];
    for (let i = 0; i < 6; i++) statuses.push((await guess(`wrong-${i}`, "10.0.0.1")).status);
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
    expect((await guess("wrong", "10.0.0.1")).headers["retry-after"]).toBe("1");
    // Proxies may write the port behind the address.
    expect((await guess("wrong", "10.0.0.1:4711")).status).toBe(429);
    expect((await guess("wrong", "10.0.0.2")).status).toBe(401);
    // Also the first time that this address presents it: after a restart nothing is remembered.
    expect((await guess(api.token, "10.0.0.1")).status).toBe(200);
    // And a right one between them does not make guesses free again.
    expect((await guess("wrong", "10.0.0.1")).status).toBe(429);
    await api.clock.advance(1_000);
    expect((await guess("wrong", "10.0.0.1")).status).toBe(401);
    expect((await guess("wrong", "10.0.0.1")).headers["retry-after"]).toBe("2");
  });

  it("takes the addresses of one IPv6 network for one", async () => {
    await using api = await controlApi();
    const guess = async (address: string) =>
      (await api.ask("GET", "/api/v1/sources", undefined, { token: "wrong", address })).status;
    for (let i = 1; i <= 5; i++) expect(await guess(`2001:db8:0:1::${i}`)).toBe(401);
    expect(await guess("2001:db8:0:1:ffff:ffff:ffff:ffff")).toBe(429);
    expect(await guess("2001:db8:0:2::1")).toBe(401);
    expect(await guess("::ffff:10.0.0.1")).toBe(401);
  });

  it.each([
    [1, 0],
    [4, 0],
    [5, 1_000],
    [6, 2_000],
    [11, 60_000],
    [1_000, 60_000],
  ])("after %i wrong tokens waits %i ms", (wrong, waitMs) => {
    expect(waitAfter(wrong)).toBe(waitMs);
  });
});

describe("an Idempotency-Key", () => {
  const keyed = { headers: { "idempotency-key": "k-1" } };

  it("makes a thing once, however often it is asked, at the same time too", async () => {
    await using api = await controlApi();
    const answers = await Promise.all(
      [1, 2, 3].map(() => api.ask("POST", "/api/v1/sources", { name: "Shop" }, keyed)),
    );
    const again = await api.ask("POST", "/api/v1/sources", { name: "Shop" }, keyed);
    expect(new Set([...answers, again].map((answer) => answer.body.id)).size).toBe(1);
    expect(again).toMatchObject({ status: 201, headers: { "idempotent-replayed": "true" } });
    expect((await api.ask("GET", "/api/v1/sources")).body.items).toHaveLength(1);
  });

  it("is refused with another request", async () => {
    await using api = await controlApi();
    await api.ask("POST", "/api/v1/sources", { name: "Shop" }, keyed);
    expect((await api.ask("POST", "/api/v1/sources", { name: "Other" }, keyed)).status).toBe(409);
  });

  it("does not keep a refused request, nor one of a day ago", async () => {
    await using api = await controlApi();
    expect((await api.ask("POST", "/api/v1/sources", {}, keyed)).status).toBe(400);
    const first = await api.ask("POST", "/api/v1/sources", { name: "Shop" }, keyed);
    await api.clock.advance(24 * 60 * 60 * 1_000 + 1);
    const later = await api.ask("POST", "/api/v1/sources", { name: "Shop" }, keyed);
    expect(later.body.id).not.toBe(first.body.id);
  });

  it("never stores a token: a repetition is told that it was done", async () => {
    await using api = await controlApi();
    expect((await api.ask("POST", "/api/v1/tokens", { name: "ci" }, keyed)).status).toBe(201);
    expect((await api.ask("POST", "/api/v1/tokens", { name: "ci" }, keyed)).status).toBe(409);
  });
});

describe("the audit log", () => {
  it("says who changed what, newest first, and keeps no secret", async () => {
    await using api = await controlApi();
    const { body: source } = await api.ask("POST", "/api/v1/sources", { name: "Shop" });
    await api.ask("PATCH", `/api/v1/sources/${source.id}`, { name: "Store" });
    await api.ask("GET", "/api/v1/sources");
    await api.ask("PATCH", `/api/v1/sources/${source.id}`, { name: "" });
    const { body } = await api.ask("GET", "/api/v1/audit");
    expect(body.items).toMatchObject([
      { action: "sources.patch", target: source.id, tokenName: "test", change: { name: "Store" } },
      { action: "sources.create", target: source.id, tokenName: "test" },
    ]);
    const page = await api.ask("GET", "/api/v1/audit?limit=1");
    expect(page.body.items).toHaveLength(1);
    const next = await api.ask("GET", `/api/v1/audit?limit=1&cursor=${page.body.nextCursor}`);
    expect(next.body.items[0].action).toBe("sources.create");
    expect(next.body).not.toHaveProperty("nextCursor");
  });
});

/** Documents that nobody reads again. */
