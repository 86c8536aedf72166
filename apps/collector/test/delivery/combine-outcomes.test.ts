import { expect, it } from "vitest";
import { combineOutcomes } from "../../src/delivery/sending/combine-outcomes.js";
import type { RoundOutcome } from "../../src/destinations/destination.js";

const DONE: RoundOutcome = { kind: "delivered", reason: "HTTP 200" };
const BAD: RoundOutcome = { kind: "failed", reason: "HTTP 400" };
const ABORTED: RoundOutcome = { kind: "aborted" };
const retry = (more: Partial<Extract<RoundOutcome, { kind: "retry" }>> = {}): RoundOutcome => ({
  kind: "retry",
  reason: "HTTP 503",
  doneUrls: [],
  failedUrls: [],
  alive: false,
  ...more,
});

it.each<[what: string, outcomes: readonly RoundOutcome[], combined: Partial<RoundOutcome>]>([
  ["delivered if all are", [DONE, DONE], DONE],
  ["failed if one is and none is retried", [DONE, BAD, DONE], BAD],
  ["aborted if one is", [DONE, ABORTED], ABORTED],
  ["aborted if one is and another one is retried or failed", [retry(), BAD, ABORTED], ABORTED],
  ["retried if one is", [DONE, retry(), DONE], { kind: "retry", reason: "HTTP 503", alive: true }],
  ["retried rather than failed", [BAD, retry()], { kind: "retry", alive: true }],
  ["dead if none arrived", [retry(), retry()], { kind: "retry", alive: false }],
  ["unknown if nothing better is", [retry(), retry({ alive: "unknown" })], { alive: "unknown" }],
  [
    "done with the URLs that are done with every message",
    [retry({ doneUrls: ["a", "b"], failedUrls: ["b"] }), retry({ doneUrls: ["b", "c"] }), DONE],
    { doneUrls: ["b"], failedUrls: ["b"] },
  ],
  [
    "due after the longest wait",
    [retry({ retryAfterMs: 10 }), retry({ retryAfterMs: 70 })],
    { retryAfterMs: 70 },
  ],
  [
    "retried at each URL that one message needs, with its longest wait",
    [
      retry({ targets: [{ url: "a", tried: false }] }),
      retry({
        targets: [
          { url: "b", tried: true },
          { url: "a", tried: true, retryAfterMs: 5 },
        ],
      }),
    ],
    {
      targets: [
        { url: "a", tried: true, retryAfterMs: 5 },
        { url: "b", tried: true },
      ],
    },
  ],
  [
    "not tried at a URL where no message was, and due there at once if one may go at once",
    [
      retry({ targets: [{ url: "a", tried: false, retryAfterMs: 0 }] }),
      retry({ targets: [{ url: "a", tried: false }] }),
    ],
    { targets: [{ url: "a", tried: false, retryAfterMs: 0 }] },
  ],
])("what one message became is %s", (_, outcomes, combined) => {
  expect(combineOutcomes(outcomes)).toMatchObject(combined);
});

it("says nothing of waits and of single URLs if no message does", () => {
  expect(combineOutcomes([retry(), retry()])).toStrictEqual(retry());
  const targets = [{ url: "a", tried: true }];
  expect(combineOutcomes([retry(), retry({ targets })])).toStrictEqual(retry({ targets }));
});
