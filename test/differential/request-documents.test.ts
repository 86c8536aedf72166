import { describe, expect, it } from "vitest";
import { coerce } from "../../packages/protocol/src/messages/coerce.js";
import { MESSAGE_KINDS } from "../../packages/protocol/src/messages/message.js";
import { validate } from "../../packages/protocol/src/messages/validate.js";
import { ISSUE_EXAMPLES, REMARK } from "./issue-examples.js";
import { JSON_DOCUMENTS } from "./json-documents.js";
import { isRegularPlace, PLACES } from "./places.js";
import { checkRequest, verdictOf } from "./request-verdicts.js";

const GOOD = { type: "track", event: "E", messageId: "m-1", userId: "u-1" };

describe("a document, at every place of a request, gets the same verdict from scanner and parser", () => {
  it.each(JSON_DOCUMENTS)("$name", ({ bytes, isJson }) => {
    for (const { before, after } of PLACES) {
      const body = Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]);
      checkRequest(body, undefined);
      // Where a list is expected, several documents may stand, or none.
      if (isJson === false && isRegularPlace({ before, after }))
        expect(verdictOf(body, undefined), before).toMatchObject({ kind: "refused", code: "malformed_json" });
    }
    for (const kind of MESSAGE_KINDS) checkRequest(bytes, kind);
  });

  it("the scanner takes ordinary documents, so that something is compared", () => {
    for (const { before, after } of PLACES.filter(isRegularPlace))
      expect(checkRequest(Buffer.from(`${before}{"a":[1,"x",null]}${after}`), undefined), before).toBe(true);
  });
});

// A rule that is added to the validator alone would not hold for messages that the scanner takes.
describe("the scanner leaves every message with an issue to the validator", () => {
  it.each(Object.entries(ISSUE_EXAMPLES))("%s", (code, example) => {
    if (example === REMARK) return;
    const good = JSON.stringify(GOOD);
    for (const items of [[example], [good, example], [example, good]]) {
      const body = Buffer.from(`{"batch":[${items.join()}]}`);
      const verdict = verdictOf(body, undefined);
      expect(verdict.kind === "read" ? verdict.issues.map(([, found]) => found) : verdict).toContain(code);
      expect(checkRequest(body, undefined)).toBe(false);
    }
  });

  const paths = [...fieldsThatTheValidatorReads()].sort();

  it("the validator's fields are found by what it reads", () => {
    expect(paths).toEqual(
      expect.arrayContaining(["category", "event", "groupId", "messageId", "type", "userId"]),
    );
  });

  it.each(paths)("any value of `%s`, which the validator reads", (path) => {
    for (const type of MESSAGE_KINDS) {
      const full = { ...GOOD, type, groupId: "g", previousId: "p", name: "n", category: "c" };
      for (const value of ODD_VALUES) {
        const text = JSON.stringify(withValue(full, path.split("."), "@")).replace('"@"', value);
        checkRequest(Buffer.from(`{"batch":[${text}]}`), undefined);
        checkRequest(Buffer.from(text), type);
      }
    }
  });
});

/** Values that a rule may look at: of every type, empty, long, in odd characters, and at the edges of numbers. */
const ODD_VALUES: readonly string[] = [
  ...[
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1.5",
    "12345678901234567890",
    "1e999",
    "[]",
    "[1]",
    "{}",
    '{"a":1}',
    '{"":{}}',
    '""',
    '" "',
  ],
  ...[
    '"a"',
    '"A b"',
    '"\\u0000"',
    '"\\ud800"',
    '"é"',
    '"😀"',
    '"<script>"',
    '"2026-11-21T09:30:00Z"',
    '"9999-99-99"',
    '"http://x"',
  ],
  ...[16, 32, 64, 99, 100, 101, 128, 255, 256, 257, 500, 1_000, 1_024, 5_000].map(
    (length) => `"${"x".repeat(length)}"`,
  ),
  `[${Array.from({ length: 300 }, () => "1").join()}]`,
  `{${Array.from({ length: 300 }, (_, index) => `"k${index}":1`).join()}}`,
];

/** Runs the validator over messages that note which of their fields it asks for, at any depth. */
function fieldsThatTheValidatorReads(): ReadonlySet<string> {
  const read = new Set<string>();
  const noting = (value: object, path: string): object =>
    new Proxy(value, {
      get(target, name) {
        const inner: unknown = Reflect.get(target, name);
        if (typeof name !== "string" || (!Object.hasOwn(target, name) && inner !== undefined)) return inner;
        const at = path === "" ? name : `${path}.${name}`;
        read.add(at);
        return typeof inner === "object" && inner !== null ? noting(inner, at) : inner;
      },
    });
  for (const type of MESSAGE_KINDS) {
    for (const more of [
      {},
      {
        groupId: "g",
        previousId: "p",
        name: "n",
        category: "c",
        traits: {},
        properties: {},
        context: { a: 1 },
      },
    ]) {
      const message = coerce({ ...GOOD, type, ...more });
      validate(noting(message, ""));
    }
  }
  return read;
}

function withValue(message: object, [name = "", ...rest]: readonly string[], value: unknown): object {
  const inner = (message as Record<string, object | undefined>)[name] ?? {};
  return { ...message, [name]: rest.length === 0 ? value : withValue(inner, rest, value) };
}
