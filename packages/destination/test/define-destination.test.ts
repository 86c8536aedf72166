import { expect, it } from "vitest";
import { DESTINATION_INTERFACE, type DestinationDefinition, defineDestination } from "../src/index.js";

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
