import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { asCurl, asSdkCall, asTest, shellQuoted } from "../src/pages/message/copy-as.js";

const HOSTILE = `'; touch /tmp/pwned; echo $(id) \`id\` "!" \\ \n \u202e \u001b[2J`;

test("quotes any text as one word of a shell", () => {
  for (const text of [HOSTILE, "", "'", "''", "-n", "*"]) {
    const printed = execFileSync("sh", ["-c", `printf '%s|' ${shellQuoted(text)}`], { encoding: "utf8" });
    expect(printed).toBe(`${text}|`);
  }
});

test("the curl command sends the same message without generated fields", () => {
  const message = {
    type: "track",
    userId: "u",
    event: HOSTILE,
    messageId: "m",
    sentAt: "2026-01-01T00:00:00.000Z",
  };
  const line = asCurl(message, "http://127.0.0.1:8787", "key");
  // In this shell, `curl` prints its arguments.
  const args = execFileSync("sh", ["-c", `curl() { printf '%s\\0' "$@"; }\n${line}`], {
    encoding: "utf8",
  }).split("\0");
  expect(args[0]).toBe("http://127.0.0.1:8787/v1/track");
  expect(args[2]).toBe("key:");
  expect(JSON.parse(args[6] ?? "")).toEqual({ type: "track", userId: "u", event: HOSTILE });
  for (const hidden of ["\u202e", "\u001b"]) expect(line).not.toContain(hidden);
});

test("the SDK call is valid JavaScript for the same message", () => {
  const message = { type: "page", name: HOSTILE, properties: { __proto__: null, a: [1] } };
  const call = new Function("analytics", asSdkCall(message)) as (analytics: object) => void;
  let made: unknown;
  call({ page: (given: unknown) => (made = given) });
  expect(made).toEqual({ name: HOSTILE, properties: { a: [1] } });
});

test("an unknown kind becomes a track call, and its name does not become code", () => {
  expect(asSdkCall({ type: "constructor", userId: "u" })).toMatch(/^analytics\.track\(/);
  expect(asTest({ type: "track", event: '"); evil("' }, "http://h", "k")).toContain(
    'test("track \\"); evil(\\"", async',
  );
});
