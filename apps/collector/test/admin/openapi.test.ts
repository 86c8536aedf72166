import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import ajvFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { endpointsOf } from "../../src/admin/endpoints.js";
import { openApiDocument } from "../../src/admin/openapi/openapi.js";
import { openCollector, openReceiver } from "../audiences/collector-world.js";
import { controlApi } from "./control-api.js";

/** Only what they declare is looked at: none is called. */
const ENDPOINTS = endpointsOf({ audiences: {} } as never);
const SAME = "export default function transform(message) {\n  return message;\n}\n";

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

describe("the whole document, of everything that a collector serves", () => {
  it("is valid OpenAPI 3.1", async () => {
    const document = JSON.parse(JSON.stringify(openApiDocument(ENDPOINTS, "1.0.0")));
    const result = await new Validator().validate(document);
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
  });

  it("is what a collector really answers, held against it by a validator that is not ours", async () => {
    const world = await openCollector();
    const receiver = await openReceiver();
    try {
      const { body: document } = await world.api("GET", "/openapi.json");
      const ajv = new Ajv2020({ strict: false });
      ajvFormats.default(ajv);
      ajv.addSchema(document, "api");
      const ask = async (method: string, path: string, operation: string, body?: unknown) => {
        const answer = await world.api(method, path, body);
        const pointer = `/paths/${operation.replaceAll("~", "~0").replaceAll("/", "~1")}/${method.toLowerCase()}/responses/${answer.status}/content/application~1json/schema`;
        const validate = ajv.getSchema(`api#${pointer}`);
        if (validate === undefined) throw new Error(`${method} ${operation} documents no ${answer.status}`);
        validate(answer.body);
        expect(validate.errors ?? [], `${method} ${operation}`).toEqual([]);
        return answer.body;
      };

      const source = await ask("POST", "/sources", "/sources", { name: "Shop", kind: "web" });
      const destination = await ask("POST", "/destinations", "/destinations", {
        type: "webhooks",
        sourceIds: [world.sourceId],
        settings: { webhooks: [{ url: receiver.url }] },
        filters: [{ events: ["Secret"], action: { kind: "drop" } }],
      });
      const audience = await ask("POST", "/audiences", "/audiences", {
        name: "Pro",
        condition: { kind: "trait", trait: "plan", is: "equals", value: "pro" },
        destinationIds: [destination.id],
      });
      const trait = await ask("POST", "/computed-traits", "/computed-traits", {
        name: "Secrets",
        kind: "unique_list",
        event: "Secret",
        property: "of",
        withinMs: 60_000,
        destinationIds: [],
      });
      await world.send([
        { type: "identify", messageId: "m-1", userId: "ann", traits: { plan: "pro" }, timestamp: "never" },
        { type: "track", messageId: "m-2", userId: "ann" },
        { type: "track", messageId: "m-3", userId: "ann", event: "Secret", properties: { of: [1] } },
        {
          type: "track",
          messageId: "m-4",
          userId: "ann",
          event: "Secret",
          properties: { of: "x".repeat(5_000) },
        },
      ]);
      await ask("GET", "/wait?messageId=m-1&state=delivered&destinations=all", "/wait");
      await ask("GET", "/wait?messageId=m-3&state=delivered", "/wait");
      const deliveries = await ask("GET", "/deliveries?state=delivered", "/deliveries");
      const key = "/sources/{id}/write-keys";
      for (const [method, path, operation, body] of [
        ["GET", "/sources", "/sources"],
        ["GET", `/sources/${source.id}`, "/sources/{id}"],
        ["PATCH", `/sources/${source.id}`, "/sources/{id}", { rateLimit: 5, blockedEvents: ["A"] }],
        ["GET", `/sources/${world.sourceId}/usage`, "/sources/{id}/usage"],
        ["POST", `/sources/${source.id}/write-keys`, key],
        ["GET", "/sources/none", "/sources/{id}"],
        ["POST", "/sources", "/sources", { name: "" }],
        ["POST", "/transformations", "/transformations", { name: "Same", code: SAME, secrets: { KEY: "k" } }],
        ["GET", "/transformations", "/transformations"],
        ["POST", "/transformations", "/transformations", { name: "Broken", code: "export default (" }],
        ["POST", "/transformations/test", "/transformations/test", { code: SAME, newest: { count: 2 } }],
        ["POST", "/transformations/test", "/transformations/test", { code: "export default (" }],
        ["POST", "/transformations/dry-run", "/transformations/dry-run", { code: SAME }],
        ["GET", "/catalog", "/catalog"],
        ["GET", "/destinations", "/destinations"],
        ["GET", `/destinations/${destination.id}/status`, "/destinations/{id}/status"],
        ["POST", `/destinations/${destination.id}/test`, "/destinations/{id}/test"],
        ["GET", "/messages?limit=2", "/messages"],
        ["GET", "/messages?cursor=nonsense", "/messages"],
        ["GET", "/messages/m-1", "/messages/{messageId}"],
        ["GET", "/messages/m-2", "/messages/{messageId}"],
        ["GET", "/rejected-messages", "/rejected-messages"],
        ["GET", `/deliveries/${deliveries.items[0].id}`, "/deliveries/{id}"],
        ["POST", `/deliveries/${deliveries.items[0].id}/retry`, "/deliveries/{id}/retry"],
        ["POST", "/replays", "/replays", { filter: { destinationId: destination.id } }],
        ["GET", "/audiences", "/audiences"],
        ["GET", `/audiences/${audience.id}/members`, "/audiences/{id}/members"],
        ["GET", `/counters?of=audience:${audience.id}&span=year`, "/counters"],
        ["GET", `/counters?of=destination:${destination.id}`, "/counters"],
        ["GET", "/counters?of=collector&span=5m", "/counters"],
        ["GET", "/counters", "/counters"],
        ["GET", `/audiences/${audience.id}/why?userId=ann`, "/audiences/{id}/why"],
        ["GET", `/computed-traits/${trait.id}`, "/computed-traits/{id}"],
        ["GET", `/computed-traits/${trait.id}/values`, "/computed-traits/{id}/values"],
        ["GET", `/computed-traits/${trait.id}/why?userId=ann`, "/computed-traits/{id}/why"],
        ["GET", "/profiles/ann", "/profiles/{userId}"],
        ["POST", "/deletions", "/deletions", { userIds: ["bob"], suppress: true }],
        ["GET", "/deletions", "/deletions"],
        ["GET", "/suppressions", "/suppressions"],
        ["POST", "/tokens", "/tokens", { name: "ci", access: "read" }],
        ["GET", "/tokens", "/tokens"],
        ["GET", "/audit", "/audit"],
        ["GET", "/info", "/info"],
      ] as const)
        await ask(method, path, operation, body);
    } finally {
      await world.close();
      await receiver.close();
    }
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
