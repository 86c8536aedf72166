import { expect, it } from "vitest";
import { styleFor } from "../../src/terminal/style.js";
import { table } from "../../src/terminal/table.js";

const PIPE = { style: styleFor({ NO_COLOR: "1" }, false), tableColumns: Number.POSITIVE_INFINITY };

it("cuts off long names, whole characters at a time, and no ids", () => {
  const id = "m".repeat(60);
  const rows = ["n".repeat(60), "東".repeat(40), "👩‍👩‍👧".repeat(30)].map((name) => [name, "ok", id]);
  const [, ...lines] = table(["NAME", "HEALTH", "ID"], rows, PIPE).trimEnd().split("\n");
  expect(lines.map((line) => line.split(" ")[0])).toEqual([
    `${"n".repeat(31)}…`,
    `${"東".repeat(15)}…`,
    `${"👩‍👩‍👧".repeat(15)}…`,
  ]);
  for (const line of lines) expect(line).toContain(id);
});

it("fits rows into the lines of a terminal, and shows names and URLs whole where there is room", () => {
  const id = "dst_0b6a282239564363957c1b085c8d37e9";
  const url = "https://hooks.example.com/v2/tenants/8f14e45fceea167a";
  const rows = [["Partner feed, Northern Europe", "delivering", url, "Storefront web, My app", id]];
  const at = (tableColumns: number) =>
    table(["NAME", "HEALTH", "URL", "SOURCES", "ID"], rows, { ...PIPE, tableColumns })
      .trimEnd()
      .split("\n");
  for (const columns of [120, 140])
    for (const line of at(columns)) expect(line.length).toBeLessThanOrEqual(columns);
  expect(at(120)[1]).toMatch(
    /^Partner feed, Nort\S*… {2}delivering {2}https:\/\/hooks\.ex\S*… {2}Storefront web, My app {2}dst_/,
  );
  expect(at(200)[1]).toContain(`delivering  ${url}`);
  // Ids stay whole, however small the terminal is.
  expect(at(40)[1]).toContain(id);
});
