import { memoryConfigStore } from "@sluice/event-log/testing";
import { expect, test } from "vitest";
import { newId, newWriteKey } from "../../src/documents/new-id.js";
import { logOutput } from "../../src/process/telemetry/log-output.js";
import { createLogger, type LoggerOptions, withoutSecrets } from "../../src/process/telemetry/logger.js";
import { openTokens } from "../../src/tokens/tokens.js";

function capture(options: LoggerOptions = {}): { lines: string[]; log: ReturnType<typeof createLogger> } {
  const lines: string[] = [];
  return { lines, log: createLogger({ now: () => 0, write: (line) => lines.push(line), ...options }) };
}

test("writes one JSON object a line, with time, level, msg and component first", () => {
  const { lines, log } = capture();
  log.with({ component: "http" }).warn("slow", { ms: 12 });
  expect(lines).toEqual([
    '{"time":"1970-01-01T00:00:00.000Z","level":"warn","msg":"slow","component":"http","ms":12}\n',
  ]);
});

test("withholds warnings and errors that repeat, and says how many it withheld", () => {
  let nowMs = 0;
  const { lines, log } = capture({ now: () => nowMs });
  const written = () => lines.splice(0).map((line) => JSON.parse(line) as { msg: string; withheld?: number });
  for (let line = 0; line < 1_000; line++) log.error("no server answers", { line });
  log.error("another text");
  for (let line = 0; line < 20; line++) log.info("ready");
  expect(written().map(({ msg }) => msg)).toEqual([
    ...Array.from({ length: 10 }, () => "no server answers"),
    "another text",
    ...Array.from({ length: 20 }, () => "ready"),
  ]);
  nowMs = 9_999;
  log.error("no server answers");
  expect(written()).toEqual([]);
  nowMs = 10_000;
  log.error("no server answers");
  log.error("no server answers");
  expect(written().map(({ withheld }) => withheld)).toEqual([991, undefined]);
  // The clock was set back.
  nowMs = 5_000;
  log.error("no server answers");
  expect(written()).toHaveLength(1);
});

test("does not write lines below its level", () => {
  const { lines, log } = capture({ level: "warn" });
  log.debug("a");
  log.info("b");
  log.warn("c");
  log.error("d");
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(["c", "d"]);
});

test.each([
  "authorization",
  "Authorization",
  "writeKey",
  "write_key",
  "writeKeys",
  "sharedSecret",
  "token",
  "X-Signature",
  "adminToken",
  "password",
  "cookie",
])("never writes a field called %s, at any depth", (name) => {
  const { lines, log } = capture();
  log.info("x", { a: [{ [name]: "hunter2" }], [name]: ["hunter2"] });
  expect(lines[0]).not.toContain("hunter2");
  expect(lines[0]).toContain("[hidden]");
});

test("writes errors with code and causes", () => {
  const { lines, log } = capture();
  const error = Object.assign(new Error("outer", { cause: new Error("inner") }), { code: "E1" });
  log.error("failed", { error });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    error: { message: "outer", code: "E1", cause: { message: "inner" } },
  });
});

test("writes cycles, big numbers and long text", () => {
  const { lines, log } = capture();
  const cycle: Record<string, unknown> = { big: 10n, text: "x".repeat(10_000) };
  cycle.self = cycle;
  log.info("x", { cycle });
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({ cycle: { big: "10" } });
});

const at = new Date(2026, 10, 21, 9, 5, 7);
const pretty = (options: LoggerOptions = {}) =>
  capture({ format: "pretty", now: () => at.getTime(), ...options });

test("values cannot forge pretty lines", () => {
  const { lines, log } = pretty();
  log.info("got", { id: "a\n1970 error forged\u001b[2J", n: 1 });
  expect(lines).toEqual(["09:05:07 info  Got (id a\\x0a1970 error forged\\x1b[2J, n 1)\n"]);
});

test.each<[string, object, string]>([
  ["ready", { url: "http://127.0.0.1:8787" }, "09:05:07 info  Ready (url http://127.0.0.1:8787)\n"],
  ["closed", {}, "09:05:07 info  Closed\n"],
  [
    "a deletion failed and will be retried",
    { component: "deletions", againInMs: 5, error: new Error("disk full\n  at somewhere") },
    "09:05:07 info  A deletion failed and will be retried (again in ms 5): disk full\\x0a  at somewhere\n",
  ],
  ["many", { a: 1, b: 2, c: 3, d: 4, e: 5 }, "09:05:07 info  Many (a 1, b 2, c 3, d 4)\n"],
  ["long", { a: "x".repeat(200) }, `09:05:07 info  Long (a ${"x".repeat(79)}…)\n`],
])("%s is one short line for people", (event, fields, expected) => {
  const { lines, log } = pretty();
  log.info(event, fields as never);
  expect(lines).toEqual([expected]);
});

test("a line never wraps on a terminal", () => {
  const { lines, log } = pretty({ terminal: { columns: 40 } });
  log.warn("destination is down: its messages wait, and it is probed", { destinationId: "dst_1" });
  expect(lines).toEqual(["09:05:07 warn  Destination is down: its…\n"]);
});

test.each<[string, Parameters<typeof logOutput>, object]>([
  [
    "a terminal",
    ["auto", { isTTY: true, columns: 90 }, {}],
    { format: "pretty", terminal: { hasColors: true, columns: 90 } },
  ],
  [
    "NO_COLOR",
    ["auto", { isTTY: true }, { NO_COLOR: "1" }],
    { format: "pretty", terminal: { hasColors: false } },
  ],
  ["a pipe", ["auto", { columns: 90 }, {}], { format: "json", terminal: { hasColors: false } }],
  ["pretty in a pipe", ["pretty", {}, {}], { format: "pretty", terminal: { hasColors: false } }],
  ["JSON on a terminal", ["json", { isTTY: true }, {}], { format: "json", terminal: { hasColors: true } }],
])("the output for %s", (_name, args, expected) => {
  expect(logOutput(...args)).toEqual(expected);
});

test("levels have colours only where they are wanted", () => {
  const { lines, log } = pretty({ terminal: { hasColors: true } });
  log.error("bad");
  expect(lines[0]).toBe("\u001b[2m09:05:07\u001b[22m \u001b[31merror\u001b[0m Bad\n");
});

test.each<[name: string, text: string]>([
  ["a URL with a password", "cannot reach https://user:hunter2@hooks.example/x"],
  ["a secret in a query", "GET https://hooks.example/x?a=1&token=hunter2&b=2"],
  ["an API key in a query", "GET https://hooks.example/x?api_key=hunter2"],
  ["a header", "sent Authorization: Bearer hunter2"],
  ["basic authentication", "sent Basic aHVudGVyMg== and hunter"],
  ["JSON in a text", 'answered {"password":"hunter2"}'],
  ["a write key", "no source for wk_hunter2hunter2hunter2"],
])("hides %s in texts, errors and causes", (_, text) => {
  const { lines, log } = capture();
  log.warn(text, { url: text, error: new Error(text, { cause: new Error(text) }) });
  expect(lines[0]).not.toMatch(/hunter2|aHVudGVy/);
  expect(lines[0]).toContain("[hidden]");
});

test.each<[name: string, secret: () => Promise<string> | string]>([
  ["a write key", () => newWriteKey(undefined)],
  ["a write key of oregon", () => newWriteKey("oregon")],
  ["a write key of dublin", () => newWriteKey("dublin")],
  ["an admin token", newToken],
  ["a signing secret", () => `whsec_${Buffer.from("0123456789abcdef01+/").toString("base64")}`],
])("hides %s as the collector makes it, wherever it is in a text", async (_, make) => {
  const secret = await make();
  expect(secret).toMatch(/^[a-z]+_.{20}/);
  expect(withoutSecrets(`"${secret}", (${secret}) at /x/${secret}?y`)).toBe(
    '"[hidden]", ([hidden]) at /x/[hidden]?y',
  );
});

async function newToken(): Promise<string> {
  const tokens = await openTokens({ config: memoryConfigStore() });
  return (await tokens.create("test", "full")).token;
}

test("ids are not hidden", () => {
  const id = `${newId("src")} ${newId("dst")} ${newId("tok")}`;
  expect(withoutSecrets(id)).toBe(id);
});

test("every line has time, level, msg and component, whatever its fields are called", () => {
  const { lines, log } = capture();
  log.info("ready", { time: 1, level: "x", msg: "y" });
  expect(JSON.parse(lines[0] ?? "")).toEqual({
    time: "1970-01-01T00:00:00.000Z",
    level: "info",
    msg: "ready",
    component: "collector",
    timeValue: 1,
    levelValue: "x",
    msgValue: "y",
  });
});
