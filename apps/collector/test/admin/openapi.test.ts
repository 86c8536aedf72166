import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { audienceEndpoints } from "../../src/admin/audiences/endpoints.js";
import { collectorRates } from "../../src/admin/collector/rates.js";
import { deletionEndpoints } from "../../src/admin/deletions/endpoints.js";
import { ENDPOINTS } from "../../src/admin/endpoints.js";
import { openApiDocument } from "../../src/admin/openapi.js";
import { controlApi } from "./control-api.js";
import { controlApiPage } from "./control-api-page.js";

describe("the OpenAPI document", () => {
  it("lists every endpoint once, with the names of its path's parameters", async () => {
    await using api = await controlApi();
    const { body } = await api.ask("GET", "/api/v1/openapi.json", undefined, { token: "" });
    expect(body.openapi).toBe("3.1.0");
    const operations = Object.values(body.paths as Record<string, Record<string, { operationId: string }>>)
      .flatMap((methods) => Object.values(methods))
      .map((operation) => operation.operationId);
    expect(operations.sort()).toEqual(ENDPOINTS.map((endpoint) => endpoint.name).sort());
    expect(new Set(operations).size).toBe(operations.length);
    const { parameters } = body.paths["/sources/{id}/write-keys/{key}"].delete;
    expect(parameters.map((parameter: { name: string }) => parameter.name)).toEqual(["id", "key"]);
  });

  it("is made of the schemas that check: what a body may hold is what is documented", () => {
    const document = openApiDocument(ENDPOINTS, "1.0.0");
    const body = document.paths["/sources"]?.post?.requestBody?.content["application/json"].schema;
    expect(body).toMatchObject({ required: ["name"], additionalProperties: false });
  });

  it("names the codes that an endpoint answers", () => {
    const { responses } = openApiDocument(ENDPOINTS, "1.0.0").paths["/sources/{id}"]?.patch ?? {
      responses: {},
    };
    expect(Object.keys(responses)).toEqual(["200", "400", "401", "403", "404", "409", "412", "429", "503"]);
  });
});

describe("the page that shows it", () => {
  it("needs no script and nothing from elsewhere, and forbids both", async () => {
    await using api = await controlApi();
    const page = await api.ask("GET", "/api/v1/docs", undefined, { token: "" });
    expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
    expect(page.body).not.toMatch(/<script|https?:\/\/(?!127\.0\.0\.1)|style="/);
    for (const { path } of ENDPOINTS)
      expect(page.body).toContain(`/api/v1${path.replace(/:(\w+)/g, "{$1}")}</code>`);
  });
});

describe("the reference page", () => {
  // After a change: `npx vitest run --config vitest.workspace.ts --project apps/collector apps/collector/test/admin -u`.
  it("is what the endpoints say of themselves", async () => {
    // Only what they declare is looked at: none is called.
    const nothing = {} as never;
    const all = [
      ...ENDPOINTS,
      collectorRates(nothing),
      ...audienceEndpoints(nothing),
      ...deletionEndpoints(nothing, nothing),
    ];
    const page = fileURLToPath(new URL("../../../../docs/reference/control-api.md", import.meta.url));
    await expect(controlApiPage(openApiDocument(all, "1.0.0"))).toMatchFileSnapshot(page);
  });
});
