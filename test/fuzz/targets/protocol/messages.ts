import fc from "fast-check";
import { expect } from "vitest";
import { coerce } from "../../../../packages/protocol/src/messages/coerce.js";
import { remarks, validate } from "../../../../packages/protocol/src/messages/validate.js";
import { webhookPayload } from "../../../../packages/protocol/src/messages/webhook-payload.js";
import { valueTarget } from "../../engine/target.js";

const field = fc.constantFrom(
  ...[
    "type",
    "messageId",
    "userId",
    "anonymousId",
    "event",
    "groupId",
    "previousId",
    "name",
    "category",
    "context",
  ],
  ...[
    "integrations",
    "properties",
    "traits",
    "timestamp",
    "writeKey",
    "__proto__",
    "constructor",
    "toJSON",
    "x",
  ],
);
const value = fc.oneof(
  fc.constantFrom<unknown>(
    "track",
    "identify",
    "page",
    "screen",
    "group",
    "alias",
    "",
    "u",
    null,
    [],
    {},
    0,
    1e21,
    -0,
    true,
    "\ud800",
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

export const messages = valueTarget({
  name: "messages",
  rule: "any JSON object is valid or has issues; what is valid stays valid when it is stored and read again, and has a payload",
  runs: 1_500,
  values: fc.tuple(
    fc.array(fc.tuple(field, value), { maxLength: 10 }),
    fc.constantFrom(undefined, "track", "identify" as const),
  ),
  check([fields, kind]) {
    const json = JSON.stringify(Object.fromEntries(fields));
    const message = JSON.parse(json);
    coerce(message, { ...(kind === undefined ? {} : { kind }) });
    const issues = validate(message);
    remarks(message);
    if (issues.length > 0) return;
    const again = JSON.parse(JSON.stringify(message));
    coerce(again, {});
    expect(validate(again)).toEqual([]);
    expect(again).toEqual(JSON.parse(JSON.stringify(message)));
    for (const payload of ["full", "classic"] as const) {
      const body = JSON.stringify(webhookPayload(message, "2026-11-21T09:30:00.000Z", payload));
      expect(JSON.parse(body)).toMatchObject({ type: message.type });
    }
  },
});
