import { expect, it } from "vitest";
import { table } from "../../src/terminal/table.js";

it("cuts off long names, whole characters at a time, and no ids", () => {
  const id = "m".repeat(60);
  const rows = ["n".repeat(60), "東".repeat(40), "👩‍👩‍👧".repeat(30)].map((name) => [name, "ok", id]);
  const [, ...lines] = table(["NAME", "HEALTH", "ID"], rows).trimEnd().split("\n");
  expect(lines.map((line) => line.split(" ")[0])).toEqual([
    `${"n".repeat(31)}…`,
    `${"東".repeat(15)}…`,
    `${"👩‍👩‍👧".repeat(15)}…`,
  ]);
  for (const line of lines) expect(line).toContain(id);
});
