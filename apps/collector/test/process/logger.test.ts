import { expect, test } from "vitest";
import { createLogger, type LoggerOptions } from "../../src/process/telemetry/logger.js";

function capture(options: LoggerOptions = {}): { lines: string[]; log: ReturnType<typeof createLogger> } {
  const lines: string[] = [];
  return { lines, log: createLogger({ now: () => 0, write: (line) => lines.push(line), ...options }) };
}

test("writes one JSON object a line, with time, level and event first", () => {
  const { lines, log } = capture();
  log.with({ stage: "http" }).warn("slow", { ms: 12 });
  expect(lines).toEqual([
    '{"time":"1970-01-01T00:00:00.000Z","level":"warn","event":"slow","stage":"http","ms":12}\n',
  ]);
});

test("does not write lines below its level", () => {
  const { lines, log } = capture({ level: "warn" });
  log.debug("a");
  log.info("b");
  log.warn("c");
  log.error("d");
  expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(["c", "d"]);
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

test("values cannot forge pretty lines", () => {
  const { lines, log } = capture({ format: "pretty" });
  log.info("got", { id: "a\n1970 error forged\u001b[2J", n: 1 });
  expect(lines).toEqual(["1970-01-01T00:00:00.000Z info  got id=a\\x0a1970 error forged\\x1b[2J n=1\n"]);
});
