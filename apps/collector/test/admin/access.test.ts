import { describe, expect, it } from "vitest";
import { waitAfter } from "../../src/admin/guess-limit.js";
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

  it("slows an address that guesses, but not a token that it proved before, nor others", async () => {
    await using api = await controlApi();
    const guess = (token: string, address: string) =>
      api.ask("GET", "/api/v1/sources", undefined, { token, address });
    const { body: other } = await api.ask("POST", "/api/v1/tokens", { name: "other" });
    for (let i = 0; i < 5; i++) expect((await guess(`wrong-${i}`, "10.0.0.1")).status).toBe(401);
    const refused = await guess(other.token, "10.0.0.1");
    expect(refused.status).toBe(429);
    expect(refused.headers["retry-after"]).toBe("1");
    expect((await guess(other.token, "10.0.0.2")).status).toBe(200);
    await api.clock.advance(1_000);
    expect((await guess(other.token, "10.0.0.1")).status).toBe(200);
    for (let i = 0; i < 5; i++) await guess(`wrong-${i}`, "10.0.0.1");
    expect((await guess("wrong", "10.0.0.1")).status).toBe(429);
    expect((await guess(other.token, "10.0.0.1")).status).toBe(200);
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
