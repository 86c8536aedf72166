import { expect, test } from "vitest";
import { readTraceContext } from "../src/index.js";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const VALID = `00-${TRACE}-${SPAN}-01`;

test("reads a trace context", () => {
  expect(readTraceContext({ traceparent: VALID, tracestate: "rojo=1,congo=t61" })).toEqual({
    traceId: TRACE,
    spanId: SPAN,
    isSampled: true,
    traceparent: VALID,
    tracestate: "rojo=1,congo=t61",
  });
  expect(readTraceContext({ traceparent: `00-${TRACE}-${SPAN}-00` })?.isSampled).toBe(false);
  expect(readTraceContext({ traceparent: `00-${TRACE}-${SPAN}-03` })?.isSampled).toBe(true);
});

test.each<[name: string, context: unknown]>([
  ["no context", undefined],
  ["a text", VALID],
  ["a list", [VALID]],
  ["no traceparent", { traceid: TRACE }],
  ["a number", { traceparent: 1 }],
  ["a list in it", { traceparent: [VALID] }],
  ["upper case", { traceparent: VALID.toUpperCase() }],
  ["a trace id of zeros", { traceparent: `00-${"0".repeat(32)}-${SPAN}-01` }],
  ["a span id of zeros", { traceparent: `00-${TRACE}-${"0".repeat(16)}-01` }],
  ["another version", { traceparent: `01-${TRACE}-${SPAN}-01` }],
  ["the version ff", { traceparent: `ff-${TRACE}-${SPAN}-01` }],
  ["more behind it", { traceparent: `${VALID}-what` }],
  ["a line break behind it", { traceparent: `${VALID}\n` }],
  ["a header injected", { traceparent: `${VALID}\r\nX-Evil: 1` }],
  ["a space before it", { traceparent: ` ${VALID}` }],
  ["too short", { traceparent: VALID.slice(0, -1) }],
  ["megabytes", { traceparent: "0".repeat(1_000_000) }],
])("ignores %s", (_, context) => {
  expect(readTraceContext(context)).toBeUndefined();
});

test.each<[name: string, tracestate: unknown]>([
  ["a line break", "a=1\r\nX-Evil: 1"],
  ["other characters", "a=é"],
  ["no value", "a"],
  ["more than 512 characters", `a=${"1".repeat(600)}`],
  ["more than 32 members", Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(",")],
  ["a number", 1],
])("ignores a tracestate with %s, and keeps the traceparent", (_, tracestate) => {
  const read = readTraceContext({ traceparent: VALID, tracestate });
  expect(read?.traceparent).toBe(VALID);
  expect(read?.tracestate).toBeUndefined();
});
