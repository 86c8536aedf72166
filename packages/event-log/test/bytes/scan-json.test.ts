import { expect, test } from "vitest";
import { findTexts, findWriteKey } from "../../src/bytes/find-fields.js";
import { itemSpan, scanJson, withoutItems } from "../../src/bytes/scan-json.js";

const scan = (text: string, maxDepth = 1_000) => scanJson(Buffer.from(text), maxDepth);

test.each<[name: string, text: string, items: readonly string[]]>([
  ["no batch", '{"a":[1,2]}', []],
  ["an empty batch", '{"batch":[ ]}', []],
  ["items with white space around", '{"batch":[ 1 ,\n{"a":[1,2]}\t, "x,]" ]}', ["1", '{"a":[1,2]}', '"x,]"']],
  ["a batch that is no array", '{"batch":{"a":[1,2]}}', []],
  ["a batch at the root's array", '["batch",[1,2]]', []],
  ["the last of two", '{"batch":[1,2],"batch":[3]}', ["3"]],
  ["none, when the last of two is no array", '{"batch":[1,2],"batch":null}', []],
  ["a key with escapes", '{"\\u0062atch":[1]}', ["1"]],
  ["another key with escapes", '{"\\u0063atch":[1]}', []],
  ["a value that is called batch", '{"a":"batch","b":[1]}', []],
  ["quotes and backslashes", '{"batch":["\\"]\\\\",2]}', ['"\\"]\\\\"', "2"]],
])("items: %s", (_name, text, items) => {
  const found = scan(text);
  const spans = Array.from({ length: Math.max(0, found.bounds.length - 1) }, (_, i) =>
    Buffer.from(text)
      .subarray(...itemSpan(Buffer.from(text), found, i))
      .toString(),
  );
  expect(spans).toEqual(items);
});

test("tells deep items from deep envelopes", () => {
  expect(scan('{"batch":[[[1]],[[[1]]],1,{"a":{"b":{}}}]}', 2)).toMatchObject({
    deepItems: [1, 3],
    isDeepOutside: false,
  });
  expect(scan('{"a":[[1]],"batch":[]}', 2)).toMatchObject({ deepItems: [], isDeepOutside: true });
});

test("overwrites items with null", () => {
  const body = Buffer.from('{"batch":[ [1] ,2, {"a":3}],"x":1}');
  const found = scanJson(body, 9);
  expect(Buffer.from(withoutItems(body, found, [0, 2])).toString()).toBe('{"batch":[ null ,2, null],"x":1}');
});

test.each(['{"writeKey":"wk', '{"writeKey', '{"writeKey":"wk\\', '{"a":"b","writeKey":"'])(
  "the search for fields ends with a body that is cut off: %s",
  (text) => {
    // Bytes in a buffer of their own: nothing lies behind them.
    const body = Uint8Array.from(Buffer.from(text));
    expect(findWriteKey(body, false)).toBeUndefined();
    expect(findTexts(body, new Set(["writeKey"]))).toEqual({});
  },
);
