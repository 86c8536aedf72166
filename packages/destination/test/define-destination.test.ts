import { expect, it } from "vitest";
import {
  connectionAdvice,
  DESTINATION_INTERFACE,
  type DestinationDefinition,
  defineDestination,
  type OutgoingMessage,
  rowOf,
} from "../src/index.js";

const GOOD: DestinationDefinition = {
  type: "tally",
  name: "Tally",
  settings: { type: "object", additionalProperties: false, properties: {} },
  open: () => ({ deliver: async () => ({ kind: "delivered", reason: "counted" }) }),
};
const withSetting = (setting: object) => ({
  settings: { ...GOOD.settings, properties: { token: { title: "Token", type: "string", ...setting } } },
});

it("returns the definition with the version of the interface", () => {
  expect(defineDestination(GOOD)).toEqual({ interfaceVersion: DESTINATION_INTERFACE, definition: GOOD });
});

it.each([
  [{ type: "Tally" }, 'type must be 1 to 50 small letters, digits and "-", the first a letter, got "Tally"'],
  [{ type: undefined }, "type must be"],
  [{ name: " " }, "name must be a text"],
  [{ icon: "M2 2<script>" }, "icon must be the d of an SVG path"],
  [{ icon: 'M2 2"onload="x' }, "icon must be"],
  [{ icon: `M${"1".repeat(1_000)}` }, "icon must be"],
  [{ open: undefined }, "open must be a function"],
  [{ settings: undefined }, "settings must be a schema"],
  [withSetting({ title: undefined }), "the setting token must have a title and a type"],
  [
    withSetting({
      type: "object",
      properties: { key: { title: "Key", type: "string", secret: { boundTo: [] } } },
    }),
    "the secret token.key must not be in a group",
  ],
  [withSetting({ type: "object", properties: { key: {} } }), "the setting token.key must have a title"],
  [withSetting({ pattern: "(" }), "the pattern of token is not a regular expression"],
  [withSetting({ secret: { boundTo: ["host"] } }), "the secret token is bound to host, which is no setting"],
])("refuses %j", (change, problem) => {
  const definition = { ...GOOD, ...change } as DestinationDefinition;
  expect(() => defineDestination(definition)).toThrow(problem);
});

it.each([
  ["ECONNREFUSED", "", "Nothing listens at db:1. Start the server, or correct name and port"],
  ["ENOTFOUND", "", "db:1 has no address. Check the name"],
  ["EHOSTUNREACH", "", "There is no way to db:1. Check network and firewalls"],
  ["UND_ERR_CONNECT_TIMEOUT", "", "db:1 does not answer. Check name, port and firewalls"],
  ["EPIPE", "", "db:1 closed the connection. Look at its log"],
  ["ERR_EGRESS_REFUSED", "", "The collector does not allow db:1. Add it to allowTargets"],
  [
    undefined,
    "self-signed certificate",
    "The certificate of db:1 is not trusted. Set its certificate authority (the setting ca, or NODE_EXTRA_CA_CERTS of the collector)",
  ],
  ["28P01", "wrong password", undefined],
])("says what to do about %s %s", (code, message, advice) => {
  expect(connectionAdvice({ code, message }, "db:1")).toBe(advice);
});

it.each([
  ["of no user", { userId: "", anonymousId: "a1" }, { anonymous_id: "a1" }],
  ["of no visitor", { userId: "u1", anonymousId: "" }, { user_id: "u1" }],
  ["of an alias", { userId: "", "User ID": "u1", "Previous ID": "" }, { user_id: "u1" }],
  ["of no group", { userId: "u1", groupId: "" }, { user_id: "u1" }],
])("a row leaves an empty id %s out", (_, ids, expected) => {
  const payload = { type: "track", timestamp: "2026-01-01T00:00:00.000Z", ...ids };
  const message = { id: "m1", sourceId: "src_1", receivedAtMs: 0, position: 1, payload };
  const { user_id, anonymous_id, previous_id, group_id } = rowOf(message as unknown as OutgoingMessage);
  expect({ user_id, anonymous_id, previous_id, group_id }).toEqual({
    ...{ user_id: undefined, anonymous_id: undefined, previous_id: undefined, group_id: undefined },
    ...expected,
  });
});
