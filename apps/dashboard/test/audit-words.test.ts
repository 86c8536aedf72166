import { ENDPOINTS } from "@sluice/control-api";
import { expect, it } from "vitest";
import { actionText } from "../src/pages/settings/audit-card.js";

/** Changes that the audit log leaves out: they are asked again and again, or change nothing. */
const NOT_LOGGED = [
  "audiences.preview",
  "computed_traits.preview",
  "transformations.test",
  "transformations.dryRun",
];

it("names every change that the API can make", () => {
  const changes = Object.entries(ENDPOINTS)
    .filter(([key]) => !key.startsWith("GET "))
    .map(([, { name }]) => name)
    .filter((name) => !NOT_LOGGED.includes(name));
  for (const name of changes) expect(actionText(name)).not.toBe(name);
  expect(actionText("things.new")).toBe("things.new");
});
