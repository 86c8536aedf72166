import { DOCUMENT_KINDS } from "@sluice/event-log";
import { describe, expect, it } from "vitest";
import type { TransformationDocument } from "../../src/documents/documents.js";
import { controlApi } from "./control-api.js";

const SAME = "export default function transform(message) {\n  return message;\n}\n";
const NONE = "export default () => null;\n";
const PATH = "/api/v1/transformations";

async function withTransformation(input: object = {}) {
  const api = await controlApi();
  const made = await api.ask("POST", PATH, { name: "Mask", code: SAME, ...input });
  return { api, made, id: made.body.id as string, path: `${PATH}/${made.body.id}` };
}

const attached = async (path: string, api: Awaited<ReturnType<typeof controlApi>>) => {
  const { destinationIds, sourceIds } = (await api.ask("GET", path)).body;
  return { destinationIds, sourceIds };
};

describe("versions", () => {
  it("are made by saving code, and any of them is put in force again in one step", async () => {
    const { api, made, path } = await withTransformation();
    await using _ = api;
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      name: "Mask",
      code: SAME,
      language: "typescript",
      current: 1,
      newest: 1,
    });
    const saved = await api.ask("PATCH", path, { code: NONE });
    expect(saved.body).toMatchObject({ code: NONE, current: 2, newest: 2, version: 2 });
    const back = await api.ask("PATCH", path, { current: 1 });
    expect(back.body).toMatchObject({ code: SAME, current: 1, newest: 2, version: 3 });
    const { items } = (await api.ask("GET", `${path}/versions`)).body;
    expect(items).toMatchObject([
      { number: 2, code: NONE, isCurrent: false, createdBy: "test" },
      { number: 1, code: SAME, isCurrent: true, createdBy: "test" },
    ]);
    // A version is not overwritten by what is saved after the return to an earlier one.
    expect((await api.ask("PATCH", path, { code: NONE })).body).toMatchObject({ current: 3, newest: 3 });
  });

  it("are not made by code that is in force already", async () => {
    const { api, path } = await withTransformation();
    await using _ = api;
    const same = await api.ask("PATCH", path, { code: SAME, language: "typescript", name: "Renamed" });
    expect(same.body).toMatchObject({ name: "Renamed", current: 1, newest: 1 });
    expect((await api.ask("PATCH", path, { language: "javascript" })).body).toMatchObject({
      code: SAME,
      language: "javascript",
      newest: 2,
    });
  });

  it("are listed in pages", async () => {
    const { api, path } = await withTransformation();
    await using _ = api;
    for (let number = 2; number <= 5; number++) await api.ask("PATCH", path, { code: `${NONE}// ${number}` });
    const numbers: number[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const { body } = await api.ask("GET", `${path}/versions?limit=2${more}`);
      numbers.push(...body.items.map((one: { number: number }) => one.number));
      cursor = body.nextCursor;
    }
    expect(numbers).toEqual([5, 4, 3, 2, 1]);
    for (const cursor of ["0", "7", "x", "1.5"])
      expect((await api.ask("GET", `${path}/versions?cursor=${cursor}`)).status).toBe(400);
  });

  it.each([
    ["a version that does not exist", { current: 2 }, "current: there is no version 2"],
    ["code and an earlier version at once", { code: NONE, current: 1 }, "current: it puts"],
    ["no code", { code: "" }, "code"],
    ["code above 65,536 characters", { code: "x".repeat(65_537) }, "code"],
  ])("refuse %s", async (_name, patch, message) => {
    const { api, path } = await withTransformation();
    await using _ = api;
    const answer = await api.ask("PATCH", path, patch);
    expect(answer).toMatchObject({ status: 400, body: { code: "invalid_request" } });
    expect(answer.body.message).toContain(message);
    expect((await api.ask("GET", path)).body.version).toBe(1);
  });

  it("are saved by one of two people who save at once, and the other one is told", async () => {
    const { api, path } = await withTransformation();
    await using _ = api;
    const headers = { "if-match": '"1"' };
    const answers = await Promise.all(
      [NONE, `${NONE}// b`].map((code) => api.ask("PATCH", path, { code }, { headers })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect((await api.ask("GET", path)).body).toMatchObject({ newest: 2, version: 2 });
    expect((await api.ask("PATCH", path, { code: SAME }, { headers })).status).toBe(412);
    expect((await api.ask("PATCH", path, { code: SAME, version: 1 })).status).toBe(409);
  });

  it("are named in the audit log, with who saved them and without their code", async () => {
    const { api, id, path } = await withTransformation();
    await using _ = api;
    const { token } = (await api.ask("POST", "/api/v1/tokens", { name: "ada" })).body;
    await api.ask("PATCH", path, { code: NONE }, { token });
    await api.ask("PATCH", path, { current: 1 }, { token });
    await api.ask("DELETE", path);
    const { items } = (await api.ask("GET", "/api/v1/audit?limit=5")).body;
    expect(items).toMatchObject([
      { action: "transformations.delete", target: id, targetName: "Mask" },
      { action: "transformations.patch", tokenName: "ada", change: { current: 1 } },
      {
        action: "transformations.patch",
        tokenName: "ada",
        change: { saved: "version 2" },
        targetName: "Mask",
      },
      { action: "tokens.create" },
      { action: "transformations.create", target: id, change: { name: "Mask", saved: "version 1" } },
    ]);
    expect(JSON.stringify(items)).not.toContain("export default");
  });
});

describe("secrets", () => {
  const secrets = { HASH_KEY: "hush-hush", OTHER: "also hush" };

  it("are sealed in the store and never shown; only their names are", async () => {
    const { api, made, id, path } = await withTransformation({ secrets });
    await using _ = api;
    expect(made.body.secretNames).toEqual(["HASH_KEY", "OTHER"]);
    const changed = await api.ask("PATCH", path, { secrets: { OTHER: null, NEW: "quiet" } });
    expect(changed.body.secretNames).toEqual(["HASH_KEY", "NEW"]);
    const stored = await api.store.config.get<TransformationDocument>(DOCUMENT_KINDS.transformation, id);
    expect(api.secrets.open(stored?.value.secrets.HASH_KEY ?? "")).toBe("hush-hush");
    expect(stored?.value.secretsRevision).toBe(2);
    const audit = await api.ask("GET", "/api/v1/audit?limit=2");
    expect(audit.body.items[0].change).toEqual({ secrets: { OTHER: null, NEW: "(hidden)" } });
    const lists = [await api.ask("GET", PATH), await api.ask("GET", `${path}/versions`)];
    const kinds = await Promise.all(["transformation", "audit"].map((kind) => api.store.config.list(kind)));
    expect(JSON.stringify([made, changed, audit, lists, kinds])).not.toMatch(/hush|quiet/);
  });

  it.each([
    ["a name in small letters", { key: "v" }, "secrets.key: a secret's name"],
    ["an empty value", { KEY: "" }, "secrets.KEY"],
    [
      "more than twenty",
      Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`K${n}`, "v"])),
      "at most 20",
    ],
  ])("refuse %s", async (_name, wrong, message) => {
    await using api = await controlApi();
    const answer = await api.ask("POST", PATH, { name: "Mask", code: SAME, secrets: wrong });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain(message);
    expect((await api.ask("GET", PATH)).body.items).toEqual([]);
  });
});

describe("a token with read access", () => {
  it("sees the code, changes nothing and runs nothing", async () => {
    const { api, path } = await withTransformation({ secrets: { KEY: "hush-hush" } });
    await using _ = api;
    const { token } = (await api.ask("POST", "/api/v1/tokens", { name: "wall", access: "read" })).body;
    const seen = await api.ask("GET", path, undefined, { token });
    expect(seen.body).toMatchObject({ code: SAME, secretNames: ["KEY"] });
    expect((await api.ask("GET", `${path}/versions`, undefined, { token })).status).toBe(200);
    const refused = [
      await api.ask("POST", PATH, { name: "x", code: SAME }, { token }),
      await api.ask("PATCH", path, { current: 1 }, { token }),
      await api.ask("DELETE", path, undefined, { token }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 403]);
  });
});

describe("a destination or source", () => {
  it("has a transformation until it is detached, and meanwhile that cannot be deleted", async () => {
    const { api, id, path } = await withTransformation();
    await using _ = api;
    const transformationId = id;
    const { body: source } = await api.ask("POST", "/api/v1/sources", { name: "Shop", transformationId });
    const { body: destination } = await api.ask("POST", "/api/v1/destinations", {
      type: "scripted",
      name: "Desk",
    });
    const at = `/api/v1/destinations/${destination.id}`;
    expect(source.transformationId).toBe(id);
    expect((await api.ask("PATCH", at, { transformationId })).body.transformationId).toBe(id);
    // Other changes leave it where it is.
    expect((await api.ask("PATCH", at, { name: "Desk 2" })).body.transformationId).toBe(id);
    expect(await attached(path, api)).toEqual({ destinationIds: [destination.id], sourceIds: [source.id] });
    const refused = await api.ask("DELETE", path);
    expect(refused).toMatchObject({ status: 409, body: { code: "conflict", sourceIds: [source.id] } });
    expect(refused.body.message).toContain("the destination Desk 2, the source Shop");
    const detached = await api.ask("PATCH", at, { transformationId: null });
    expect(detached.body).not.toHaveProperty("transformationId");
    const changed = await api.ask("PATCH", `/api/v1/sources/${source.id}`, { transformationId: null });
    expect(changed.body).not.toHaveProperty("transformationId");
    expect((await api.ask("DELETE", path)).status).toBe(204);
    expect((await api.ask("GET", path)).status).toBe(404);
    expect(await api.store.config.list(DOCUMENT_KINDS.transformationVersion)).toEqual([]);
  });

  it.each([
    ["POST", "/api/v1/sources", { name: "Shop" }],
    ["POST", "/api/v1/destinations", { type: "scripted" }],
  ] as const)("is refused with one that does not exist: %s %s", async (method, address, body) => {
    await using api = await controlApi();
    const answer = await api.ask(method, address, { ...body, transformationId: "tr_none" });
    expect(answer).toMatchObject({ status: 400, body: { issues: [{ path: "transformationId" }] } });
    const { body: made } = await api.ask(method, address, body);
    const changed = await api.ask("PATCH", `${address}/${made.id}`, { transformationId: "tr_none" });
    expect(changed).toMatchObject({ status: 400, body: { issues: [{ path: "transformationId" }] } });
  });
});

describe("a repeated creation with an Idempotency-Key", () => {
  it("gets the first one's answer, also after an interruption between its two documents", async () => {
    await using api = await controlApi();
    const headers = { "idempotency-key": "k-1" };
    const ask = () => api.ask("POST", PATH, { name: "Mask", code: SAME }, { headers });
    const put = api.store.config.put;
    let writes = 0;
    // The first document is stored with its key; the second write fails, as if the collector were killed.
    Object.assign(api.store.config, {
      put: (kind: string, ...rest: [string, unknown]) =>
        kind === "transformation" && writes++ === 0
          ? Promise.reject(new Error("killed"))
          : Reflect.apply(put, api.store.config, [kind, ...rest]),
    });
    await expect(ask()).rejects.toThrow("killed");
    const made = await ask();
    expect(made.status).toBe(201);
    expect((await ask()).body).toEqual(made.body);
    expect((await api.ask("GET", PATH)).body.items).toHaveLength(1);
    expect(await api.store.config.list(DOCUMENT_KINDS.transformationVersion)).toHaveLength(1);
  });
});
