import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { planTypes, readPlan } from "@sluice/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cli, collectorForCli } from "../support/cli.js";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sluice-plans-"));
});
afterAll(() => rm(folder, { recursive: true }));

const PLAN = {
  name: "Shop",
  $defs: {
    "postal address": { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
  track: {
    "Order Completed": {
      description: "A customer paid. */ Really.",
      type: "object",
      properties: {
        total: { type: "number", description: "In euros" },
        currency: { enum: ["EUR", "USD"] },
        paidAt: { type: "string", format: "date-time" },
        to: { $ref: "#/$defs/postal address" },
        items: { type: "array", items: { type: ["string", "null"] } },
        "gift-wrap": { type: "boolean" },
        either: { oneOf: [{ type: "string" }, { type: "object", properties: { id: { type: "integer" } } }] },
        labels: { type: "object", additionalProperties: { type: "string" } },
      },
      required: ["total"],
    },
    "Signed Out": {},
  },
  page: { Home: { type: "object", additionalProperties: true } },
  identify: { type: "object", properties: { email: { type: "string" } } },
  alias: { type: "object", properties: { previousId: { type: "string" } }, required: ["previousId"] },
};

function typesOf(json: unknown): string {
  const reading = readPlan(json);
  if (reading.kind === "invalid") throw new Error(JSON.stringify(reading.issues));
  return planTypes(reading.plan, { typeName: "Plan", head: "Head" });
}

describe("the types of a plan", () => {
  it("are those of its schemas", () => {
    expect(typesOf(PLAN)).toMatchInlineSnapshot(`
      "// Head

      /** Shop */
      export interface Plan {
        identify: {
          email?: string;
        };
        track: {
          /** A customer paid. *\\/ Really. */
          "Order Completed": {
            /** In euros */
            total: number;
            currency?: "EUR" | "USD";
            paidAt?: string | Date;
            to?: PostalAddress;
            items?: (string | null)[];
            "gift-wrap"?: boolean;
            either?: string | {
              id?: number;
            };
            labels?: { [name: string]: string };
          };
          "Signed Out": object;
        };
        page: {
          Home: { [name: string]: unknown };
        };
        alias: {
          previousId: string;
        };
      }

      export type PostalAddress = {
        city: string;
      };
      "
    `);
  });

  it("are the same each time", () => expect(typesOf(PLAN)).toBe(typesOf(structuredClone(PLAN))));

  it("give definitions with the same name two types", () => {
    const text = typesOf({ $defs: { "a b": { type: "string" }, "a-b": { type: "number" }, plan: {} } });
    expect(text).toContain("type AB = string");
    expect(text).toContain("type AB2 = number");
    expect(text).toContain("type Plan2 = unknown");
  });
});

describe("sluice types", () => {
  const run = async (args: readonly string[]) => {
    const running = cli(["types", ...args], { cwd: folder });
    return { code: await running.code, out: running.out(), err: running.err() };
  };

  it("writes a file, says when it is up to date, and fails a check when it is not", async () => {
    await writeFile(join(folder, "plan.json"), JSON.stringify(PLAN));
    expect(await run(["plan.json", "--out", "plan.ts", "--check"])).toMatchObject({ code: 6 });
    expect(await run(["plan.json", "--out", "plan.ts"])).toMatchObject({ code: 0, out: "wrote plan.ts\n" });
    expect(await run(["plan.json", "--out", "plan.ts", "--check"])).toMatchObject({
      code: 0,
      out: "plan.ts is up to date\n",
    });
    const text = await readFile(join(folder, "plan.ts"), "utf8");
    expect(text).toContain("// npx sluice types plan.json --out plan.ts\n");
    await writeFile(join(folder, "plan.json"), JSON.stringify({ ...PLAN, track: {} }));
    const checked = await run(["plan.json", "--out", "plan.ts", "--check"]);
    expect([checked.code, checked.err]).toEqual([6, expect.stringContaining("plan.ts is not up to date")]);
  });

  it("names each mistake with its place", async () => {
    await writeFile(
      join(folder, "bad.json"),
      JSON.stringify({ track: { A: { if: {} }, B: { pattern: "(?=a)" } } }),
    );
    const { code, err } = await run(["bad.json"]);
    expect(code).toBe(2);
    expect(err).toContain("/track/A/if: `if` is not supported");
    expect(err).toContain("/track/B/pattern: cannot be used");
  });

  it.each([
    ["a file that is not there", ["nothing.json"]],
    ["--check without --out", ["plan.json", "--check"]],
    ["a name that is no type's", ["plan.json", "--name", "a-b"]],
  ])("refuses %s", async (_name, args) => expect((await run(args)).code).toBe(2));
});

describe("sluice views", () => {
  const run = async (args: readonly string[]) => {
    const running = cli(["views", ...args], { cwd: folder });
    return { code: await running.code, out: running.out() };
  };

  it("prints SQL with names and texts quoted, and no name twice", async () => {
    const track = { "It's": { properties: { "a b": { type: "integer" }, "a-b": {} } }, its: {}, "it s": {} };
    await writeFile(join(folder, "views.json"), JSON.stringify({ track }));
    const { out } = await run(["views.json", "--schema", 'my "own"']);
    expect(out).toContain(`create view "my ""own"""."it_s" as select`);
    expect(out).toContain(`create view "my ""own"""."it_s_2" as select`);
    expect(out).toContain(`where type = 'track' and event = 'It''s';`);
    expect(out).toMatch(/::numeric end as "a_b",\n {2}\(message -> 'properties' -> 'a-b'\) as "a_b_2"/);
    expect(await run(["views.json", "--out", "views.sql"])).toMatchObject({ code: 0 });
    expect(await run(["views.json", "--out", "views.sql", "--check"])).toMatchObject({ code: 0 });
    expect(await run(["views.json", "--check"])).toMatchObject({ code: 2 });
  });
});

describe("sluice sources plan and sluice events", () => {
  it("set, show and remove a plan, and list what violated it", async () => {
    await using at = await collectorForCli();
    const file = join(folder, "shop.json");
    await writeFile(file, JSON.stringify({ track: { Paid: { properties: { total: { type: "number" } } } } }));
    const set = await at.sluice(["sources", "plan", "set", at.sourceId, file, "--mode", "refuse"]);
    expect(set.out).toMatch(/ has a tracking plan in the mode refuse\n$/);
    expect(JSON.parse((await at.sluice(["sources", "plan", "get", at.sourceId])).out).track).toHaveProperty(
      "Paid",
    );
    await at.sluice(["send", "track", "--event", "Paid", "--properties", '{"total":"5"}'], 6);
    const listed = JSON.parse(
      (await at.sluice(["events", "list", at.sourceId, "--violating", "--json"])).out,
    );
    expect(listed.items).toMatchObject([{ name: "Paid", count: 0, violations: 1, isPlanned: true }]);
    expect((await at.sluice(["events", "list", at.sourceId])).out).toContain(
      "`properties.total` must be a number",
    );
    await at.sluice(["sources", "plan", "remove", at.sourceId], 2);
    await at.sluice(["sources", "plan", "remove", at.sourceId, "--yes"]);
    await at.sluice(["sources", "plan", "get", at.sourceId], 5);
    await at.sluice(["sources", "plan", "set", at.sourceId, file, "--mode", "warn"], 2);
  });
});
