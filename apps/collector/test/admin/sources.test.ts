import { describe, expect, it } from "vitest";
import { controlApi } from "./control-api.js";

describe("sources", () => {
  it("says which words there are where one is wrong", async () => {
    await using api = await controlApi();
    const answer = await api.ask("POST", "/api/v1/sources", { name: "Shop", kind: "desk" });
    expect(answer.body.message).toBe("invalid_request: kind: Expected one of web, mobile, server");
  });

  it("makes one with a write key, lists it, gets it", async () => {
    await using api = await controlApi();
    const made = await api.ask("POST", "/api/v1/sources", { name: "Shop" });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ name: "Shop", kind: "server", version: 1, blockedEvents: [] });
    expect(made.body.writeKeys).toHaveLength(1);
    expect(made.body.writeKeys[0].key).toMatch(/^oregon_[0-9A-Za-z]{32}$/);
    expect((await api.ask("GET", "/api/v1/sources")).body.items).toEqual([made.body]);
    expect((await api.ask("GET", `/api/v1/sources/${made.body.id}`)).body).toEqual(made.body);
  });

  it("rotates write keys: the old one stays until it is deleted", async () => {
    await using api = await controlApi();
    const { body: source } = await api.ask("POST", "/api/v1/sources", { name: "Shop", kind: "web" });
    const rotated = await api.ask("POST", `/api/v1/sources/${source.id}/write-keys`);
    expect(rotated.status).toBe(201);
    expect(rotated.body.writeKeys).toHaveLength(2);
    const [old, fresh] = rotated.body.writeKeys;
    expect(old).toEqual(source.writeKeys[0]);
    const removed = await api.ask("DELETE", `/api/v1/sources/${source.id}/write-keys/${old.key}`);
    expect(removed.status).toBe(204);
    expect((await api.ask("GET", `/api/v1/sources/${source.id}`)).body.writeKeys).toEqual([fresh]);
    expect((await api.ask("DELETE", `/api/v1/sources/${source.id}/write-keys/${old.key}`)).status).toBe(404);
  });

  it("changes what a patch names and leaves the rest", async () => {
    await using api = await controlApi();
    const { body: source } = await api.ask("POST", "/api/v1/sources", { name: "Shop", rateLimit: 100 });
    const blocked = await api.ask("PATCH", `/api/v1/sources/${source.id}`, { blockedEvents: ["Debug"] });
    expect(blocked.body).toEqual({ ...source, blockedEvents: ["Debug"], version: 2 });
    const unlimited = await api.ask("PATCH", `/api/v1/sources/${source.id}`, { rateLimit: null });
    expect(unlimited.body).not.toHaveProperty("rateLimit");
    expect(unlimited.body.blockedEvents).toEqual(["Debug"]);
  });

  it("refuses a patch of a version that is not there any more", async () => {
    await using api = await controlApi();
    const { body: source, headers } = await api.ask("POST", "/api/v1/sources", { name: "Shop" });
    expect(headers.etag).toBe('"1"');
    const path = `/api/v1/sources/${source.id}`;
    expect((await api.ask("PATCH", path, { name: "A" }, { headers: { "if-match": '"1"' } })).status).toBe(
      200,
    );
    const late = await api.ask("PATCH", path, { name: "B" }, { headers: { "if-match": '"1"' } });
    expect(late.status).toBe(412);
    expect(late.body).toMatchObject({ code: "precondition_failed", version: 2 });
    expect((await api.ask("PATCH", path, { name: "B", version: 1 })).body).toMatchObject({
      code: "conflict",
      version: 2,
    });
    expect((await api.ask("GET", path)).body.name).toBe("A");
  });

  it("deletes", async () => {
    await using api = await controlApi();
    const { body: source } = await api.ask("POST", "/api/v1/sources", { name: "Shop" });
    expect((await api.ask("DELETE", `/api/v1/sources/${source.id}`)).status).toBe(204);
    expect((await api.ask("GET", `/api/v1/sources/${source.id}`)).status).toBe(404);
    expect((await api.ask("DELETE", `/api/v1/sources/${source.id}`)).status).toBe(404);
  });

  it.each([
    ["no name", {}, "name"],
    ["an empty name", { name: "" }, "name"],
    ["a field it does not know", { name: "a", colour: 1 }, "colour"],
    ["an unknown kind", { name: "a", kind: "desktop" }, "kind"],
    ["not an object", [1], ""],
  ])("refuses %s and names the field", async (_name, body, path) => {
    await using api = await controlApi();
    const answer = await api.ask("POST", "/api/v1/sources", body);
    expect(answer.status).toBe(400);
    expect(answer.body.code).toBe("invalid_request");
    expect(answer.body.issues[0].path).toBe(path);
  });

  it("refuses what is no JSON", async () => {
    await using api = await controlApi();
    expect((await api.ask("POST", "/api/v1/sources", '{"name"')).body.code).toBe("malformed_json");
  });

  it("pages by cursor", async () => {
    await using api = await controlApi();
    for (const name of ["a", "b", "c"]) await api.ask("POST", "/api/v1/sources", { name });
    const first = await api.ask("GET", "/api/v1/sources?limit=2");
    expect(first.body.items.map((source: { name: string }) => source.name)).toEqual(["a", "b"]);
    const second = await api.ask("GET", `/api/v1/sources?limit=2&cursor=${first.body.nextCursor}`);
    expect(second.body.items.map((source: { name: string }) => source.name)).toEqual(["c"]);
    expect(second.body).not.toHaveProperty("nextCursor");
    expect((await api.ask("GET", "/api/v1/sources?limit=0")).status).toBe(400);
    expect((await api.ask("GET", "/api/v1/sources?page=2")).status).toBe(400);
  });
});
