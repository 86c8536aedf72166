import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { classifyExchange } from "../../src/destinations/webhooks/conclude-round.js";
import { FAILURE_CODES } from "../../src/sender/describe-failure.js";

const page = readFileSync(new URL("../../../../docs/reference/webhook-delivery.md", import.meta.url), "utf8");

it("docs/reference/webhook-delivery.md lists every failure without a response, and what happens to the message", () => {
  const rows = [...page.matchAll(/^\| `([a-z_]+)` \| (retried|failed|as if it had not been) \|/gm)];
  const documented = Object.fromEntries(rows.map(([, code, outcome]) => [code, outcome]));
  const actual = Object.fromEntries(
    FAILURE_CODES.map((code) => {
      const { kind } = classifyExchange({ kind: "failed", failure: { code, message: "" }, latencyMs: 0 });
      const outcomes = { retry: "retried", refused: "failed", aborted: "as if it had not been" } as const;
      return [code, outcomes[kind as keyof typeof outcomes]];
    }),
  );
  expect(documented).toEqual(actual);
});

it.each([
  [[200, 201, 204, 299], "accepted"],
  [[408, 425, 429, 500, 502, 503, 504, 599], "retry"],
  [[300, 301, 302, 304, 307, 308, 400, 401, 403, 404, 405, 409, 413, 422, 451, 501], "refused"],
  [[410], "gone"],
])("%j: %s", (statuses, kind) => {
  const kinds = statuses.map(
    (status) => classifyExchange({ kind: "answered", status, body: "", latencyMs: 0 }).kind,
  );
  expect(new Set(kinds)).toEqual(new Set([kind]));
});
