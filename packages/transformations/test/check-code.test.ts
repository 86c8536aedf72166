import { describe, expect, it } from "vitest";
import { checkCode } from "../src/index.js";

describe("checkCode", () => {
  it.each([
    ["a function", "export default function transform(m) { return m }"],
    ["a function without a name", "export default function (m) { return m }\nconst x = 1"],
    ["an asynchronous one", "export default async function\n(m) { return m }"],
    ["an arrow", "export default (m) => m"],
    ["a name", "const t = (m) => m;\nexport default t;"],
    [
      "types",
      "import type { Message } from '@sluice/transformations';\ntype A = {};\nexport default (m: Message): A => m as A",
    ],
    [
      "the words in comments and texts",
      "// export default 1\nconst a = 'export default 2', b = `export default 3`, c = /export default/;\nexport default (m) => m /* export default */",
    ],
    ["code that would not end", "for (;;) {}\nexport default (m) => m"],
  ])("accepts %s", async (_, code) => {
    expect(await checkCode(code, "typescript")).toEqual({ ok: true });
  });

  it.each([
    ["broken code", "\nexport default (m) => {", { line: 2 }],
    ["a wrong type", "const a = 1;\nconst b: = 2;\nexport default (m) => m", { line: 2, column: 10 }],
    [
      "an enum",
      "const a = 1;\n  enum X { a }\nexport default (m) => m",
      { line: 2, column: 3, message: expect.stringContaining("enum") },
    ],
    [
      "no export",
      "function transform(m) { return m }",
      { message: expect.stringContaining("no default export") },
    ],
    [
      "an import",
      "\nimport { a } from 'b';\nexport default (m) => a",
      { line: 2, message: expect.stringContaining("imports nothing") },
    ],
    [
      "a second export",
      "export default (m) => m;\nexport const a = 1",
      { line: 2, message: expect.stringContaining("one function") },
    ],
    ["an end that is none", "export default (m) => m\n} ; {", { line: 2 }],
    [
      "code that is too long",
      `export default (m) => m // ${"x".repeat(103_000)}`,
      { message: expect.stringContaining("100 KB") },
    ],
  ])("refuses %s", async (_, code, expected) => {
    expect(await checkCode(code, "typescript")).toMatchObject({ ok: false, ...expected });
  });

  it("takes types for a mistake in JavaScript", async () => {
    expect(await checkCode("export default (m: object) => m", "javascript")).toMatchObject({
      ok: false,
      line: 1,
    });
  });
});
