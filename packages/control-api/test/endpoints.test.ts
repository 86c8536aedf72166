import { expect, it } from "vitest";
import { ENDPOINTS, type EndpointSpec } from "../src/index.js";

const endpoints: [key: string, endpoint: EndpointSpec][] = Object.entries(ENDPOINTS);

it("names every endpoint once", () => {
  const names = endpoints.map(([, { name }]) => name);
  expect(new Set(names).size).toBe(names.length);
});

it.each(endpoints)("%s asks for write access exactly if it can change something", (key, { access }) => {
  const isRead = key.startsWith("GET ") || key.endsWith("/preview");
  expect(access).toBe(isRead ? "read" : "write");
});

it.each(endpoints)("%s refuses unknown fields and parameters", (_key, { body, query }) => {
  for (const schema of [body, query])
    if (schema !== undefined) expect(schema.additionalProperties).toBe(false);
});

it.each(endpoints)("%s has a summary without a full stop", (_key, { summary }) => {
  expect(summary).toMatch(/^[A-Z][a-z]+,? .*[^.]$/);
});
