import { describe, expect, it } from "vitest";
import { checkCut, checkSingle } from "./cut-verdicts.js";
import { JSON_DOCUMENTS } from "./json-documents.js";
import { PLACES } from "./places.js";

const OTHER = '{"type":"track","event":"F","messageId":"m-2","userId":"u-2"}';
const MORE_PLACES = [
  { before: `{"batch":[{"userId":"a","anonymousId":`, after: `},${OTHER}]}` },
  { before: `{"batch":[{"anonymousId":"a","userId":`, after: `},${OTHER}]}` },
  { before: `{"batch":[${OTHER},`, after: `,${OTHER}],"sentAt":"2026-11-21T09:30:00Z"}` },
  { before: `{"batch":[1],"batch":[${OTHER}],"batch":`, after: "}" },
];

describe("a document, at every place of a batch, leaves parts with the same messages and users", () => {
  it.each(JSON_DOCUMENTS)("$name", ({ bytes }) => {
    for (const { before, after } of [...PLACES, ...MORE_PLACES])
      checkCut(Buffer.concat([Buffer.from(before), bytes, Buffer.from(after)]));
    checkSingle(bytes);
    checkSingle(Buffer.concat([Buffer.from('{"event":"E","userId":'), bytes, Buffer.from("}")]));
  });
});

/** Whether a scan is enough, so that the parser is not needed. */
describe("hostile batches", () => {
  const DEEP = 40;
  it.each<[name: string, batch: string, isScanned: boolean]>([
    ["an ordinary one", `{"batch":[${OTHER},{"userId":"a"}]}`, true],
    ["a key with an escape", `{"batch":[{"user\\u0049d":"a"},{"\\u0075serId":"b"}]}`, true],
    ["every letter of a key escaped", `{"batch":[{"${escaped("anonymousId")}":"a"},${OTHER}]}`, true],
    ["an id with escapes", `{"batch":[{"userId":"\\u0061\\n\\ud83d\\ude00\\ud800"},${OTHER}]}`, true],
    [
      "two ids, the last counts",
      `{"batch":[{"userId":"a","userId":"b"},{"userId":"a","userId":null}]}`,
      true,
    ],
    ["an escaped repetition", `{"batch":[{"userId":"a","user\\u0049d":"b"},{"userId":"a"}]}`, true],
    ["an empty id", `{"batch":[{"userId":"","anonymousId":"a"},{"userId":"","anonymousId":""}]}`, true],
    ["ids that are numbers", `{"batch":[{"userId":42},{"userId":0},{"userId":123456789012345}]}`, true],
    ["numbers written in another way", `{"batch":[{"userId":-0},{"userId":1e3},{"userId":1.50}]}`, false],
    ["huge numbers", `{"batch":[{"userId":12345678901234567890},{"a":1e999},${OTHER}]}`, false],
    ["huge numbers elsewhere", `{"batch":[{"userId":"a","x":12345678901234567890.5e999},${OTHER}]}`, true],
    ["ids of other types", `{"batch":[{"userId":{"userId":"x"}},{"userId":["a"]},{"userId":true}]}`, true],
    ["an id further inside", `{"batch":[{"traits":{"userId":"x"},"anonymousId":"a"},${OTHER}]}`, true],
    ["messages that are none", `{"batch":[null,1,"x",[{"userId":"a"}],{},true,${OTHER}]}`, true],
    ["white space everywhere", ` { "batch" : [ { "userId" : "a" } ,\n\t${OTHER} ] , "x" : [ 1 ] } `, true],
    ["brackets and commas in texts", `{"x":"],[{","batch":[{"userId":"],{\\"","y":"\\\\"},${OTHER}]}`, true],
    ["the prototype", `{"__proto__":{"batch":[]},"batch":[{"__proto__":{"userId":"x"}},${OTHER}]}`, true],
    ["two batches", `{"batch":[${OTHER}],"batch":[{"userId":"a"},{"userId":"b"}]}`, false],
    ["a batch with an escape", `{"\\u0062atch":[{"userId":"a"},{"userId":"b"}]}`, false],
    ["a byte order mark", `\ufeff{"batch":[{"userId":"a"},{"userId":"b"}]}`, false],
    ["deep nesting", `{"batch":[{"x":${"[".repeat(DEEP)}${"]".repeat(DEEP)}},${OTHER}]}`, false],
    ["a batch within a message", `{"batch":[{"userId":"a","batch":[1,2]},${OTHER}]}`, true],
    ["other characters", `{"batch":[{"userId":"żółć😀"},{"anonymousId":"🤖"}]}`, true],
    ["deliver", `{"deliver":false,"batch":[{"userId":"a"},{"userId":"b"}]}`, true],
  ])("%s", (_name, batch, isScanned) => {
    expect(checkCut(Buffer.from(batch))).toBe(isScanned);
  });

  it.each([
    ["no batch", "{}"],
    ["no messages", '{"batch":[]}'],
    ["an object", '{"batch":{"0":{}}}'],
    ["an array", `[${OTHER}]`],
    ["a message that ends too early", `{"batch":[${OTHER},{"userId":"a"]}`],
    ["a message with a wrong comma", `{"batch":[${OTHER},{"userId":"a",}]}`],
    ["a missing message", `{"batch":[${OTHER},,${OTHER}]}`],
    ["a comma at the end", `{"batch":[${OTHER},]}`],
    ["text behind it", `{"batch":[${OTHER},${OTHER}]} {}`],
    ["a wrong `deliver`", `{"deliver":1,"batch":[${OTHER},${OTHER}]}`],
    ["a wrong `deliver` with an escape", `{"d\\u0065liver":1,"batch":[${OTHER},${OTHER}]}`],
    ["a control character", `{"batch":[${OTHER},{"userId":"\u0001"}]}`],
  ])("%s is not cut", (_name, batch) => {
    expect(checkCut(Buffer.from(batch))).toBe(false);
  });
});

function escaped(text: string): string {
  return [...text].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join("");
}
