import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { echoRedactor } from "../../src/destinations/webhooks/request/redact-echo.js";
import { RESPONSE_HEADERS, tracedResponseHeaders } from "../../src/destinations/webhooks/webhook-target.js";

const redactEcho = echoRedactor(["Bearer hush-credential"]);
const traced = (...headers: string[]) => tracedResponseHeaders(headers, redactEcho);

it.each([
  ["names in lower case", ["Content-Type", "text/html"], { "content-type": "text/html" }],
  ["without `date`, which differs for each response", ["Date", "now", "Via", "a"], { via: "a" }],
  ["repeated ones joined", ["Via", "a", "VIA", "b"], { via: "a, b" }],
  ["cookies", ["Set-Cookie", "a=1", "Set-Cookie", "b=2"], { "set-cookie": "[redacted], [redacted]" }],
  ["credentials by their names", ["X-Api-Key", "1"], { "x-api-key": "[redacted]" }],
  ["credentials by their values", ["X-A", "Bearer abc"], { "x-a": "[redacted]" }],
  ["the request's own credentials", ["X-A", "got hush-credential"], { "x-a": "got [redacted]" }],
  ["challenges shown", ["WWW-Authenticate", "Bearer realm=a"], { "www-authenticate": "Bearer realm=a" }],
  [
    "CORS shown",
    ["Access-Control-Allow-Credentials", "true"],
    { "access-control-allow-credentials": "true" },
  ],
  ["an empty value", ["X-A", ""], { "x-a": "" }],
])("%s", (_name, headers, shown) => {
  expect(traced(...headers)).toEqual({ shown, leftOut: 0 });
});

it("keeps a hostile name as a name", () => {
  const { shown } = traced("__proto__", "x", "constructor", "y");
  expect(Object.entries(shown)).toEqual([
    ["__proto__", "x"],
    ["constructor", "y"],
  ]);
});

it("cuts long values after it has redacted them", () => {
  const { shown } = traced("X-A", `${"x".repeat(RESPONSE_HEADERS.valueCharacters - 4)}hush-credential`);
  expect(shown["x-a"]).toHaveLength(RESPONSE_HEADERS.valueCharacters + 1);
  expect(shown["x-a"]).not.toContain("hush");
});

it("counts what is over the limits", () => {
  const many = Array.from({ length: 40 }, (_, i) => [`x-${i}`, "v"]).flat();
  expect(traced(...many).leftOut).toBe(40 - RESPONSE_HEADERS.most);
  const large = Array.from({ length: 10 }, (_, i) => [`x-${i}`, "v".repeat(500)]).flat();
  const { shown, leftOut } = traced(...large);
  expect([Object.keys(shown).length, leftOut]).toEqual([4, 6]);
  expect(Buffer.byteLength(Object.entries(shown).flat().join(""))).toBeLessThanOrEqual(
    RESPONSE_HEADERS.bytes,
  );
});

it("has the limits that the reference names", () => {
  const page = readFileSync(
    new URL("../../../../docs/reference/webhook-delivery.md", import.meta.url),
    "utf8",
  ).replace(/\s+/g, " ");
  expect(page).toContain(`at most ${RESPONSE_HEADERS.most} and ${RESPONSE_HEADERS.bytes / 1_024} KB`);
});
