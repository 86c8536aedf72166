import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Schema, TABLE } from "../../src/endpoints/fields.js";
import { collectorForCli } from "../support/cli.js";

let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
});
afterAll(() => at[Symbol.asyncDispose]());

/** Added by the command: the health of destinations, and names in the place of ids. */
const ADDED = new Set(["health", "destination", "destinations", "source", "sources", "transformation"]);

/** Whether a schema can have a value at a path. */
function has(schema: Schema | undefined, [name, ...rest]: readonly string[]): boolean {
  if (schema === undefined) return false;
  if (name === undefined) return true;
  if (schema.type === "array") return has(schema.items, [name, ...rest]);
  if (schema.anyOf !== undefined) return schema.anyOf.some((one) => has(one, [name, ...rest]));
  // A record, such as a destination's settings, has any field.
  if (schema.type === "object" && schema.properties === undefined) return true;
  return has(schema.properties?.[name], rest);
}

const COLUMNS = Object.entries(TABLE).flatMap(([key, { answer, unchangedAnswer, commands = [] }]) =>
  commands.flatMap(({ name, columns = "", rows = "items" }) =>
    columns
      .split(" ")
      .filter((column) => column !== "")
      .map((column) => ({ name, column, key, rows, schemas: [answer.schema, unchangedAnswer?.schema] })),
  ),
);

it.each(COLUMNS)("$name: column $column is in the answer", ({ column, rows, schemas }) => {
  for (const path of column.slice(column.indexOf(":") + 1).split("|"))
    expect(
      ADDED.has(path) || schemas.some((schema) => has(schema as Schema, [rows, ...path.split(".")])),
      path,
    ).toBe(true);
});

describe("a change", () => {
  it("can remove what can be absent, and needs at least one option", async () => {
    const json = async (...args: string[]) => JSON.parse((await at.sluice([...args, "--json"])).out);
    await json("sources", "create", "Shop", "--rate-limit", "5", "--block", "Debug", "Ping");
    const changed = await json("sources", "update", "Shop", "--no-rate-limit", "--no-block");
    expect(changed).toMatchObject({ blockedEvents: [], version: 2 });
    expect(changed).not.toHaveProperty("rateLimit");
    expect((await at.sluice(["sources", "update", "Shop"], 2)).err).toContain("Give at least one option");
    expect((await at.sluice(["sources", "update", "Shop", "--rate-limit", "many"], 2)).err).toContain(
      "--rate-limit must be a number, got many",
    );
  });
});

describe("a list", () => {
  it("says that it goes on", async () => {
    for (const name of ["a", "b"]) await at.sluice(["tokens", "create", name]);
    const { out, err } = await at.sluice(["tokens", "list", "-n", "1"]);
    expect(out.trim().split("\n")).toHaveLength(2);
    expect(err).toBe("There are more: use a higher --limit\n");
    expect((await at.sluice(["tokens", "list"])).err).toBe("");
  });
});

describe("sluice api", () => {
  it("sends any request, and prints the response", async () => {
    const data = JSON.stringify({ name: "By hand" });
    const { id } = JSON.parse((await at.sluice(["api", "POST", "/sources", "--data", data, "--json"])).out);
    expect(JSON.parse((await at.sluice(["api", "GET", `api/v1/sources/${id}`])).out).name).toBe("By hand");
    expect((await at.sluice(["api", "GET", "/audit?limit=1"])).out).toContain('\n  "items": [');
    expect((await at.sluice(["api", "DELETE", `/sources/${id}`])).out).toBe("");
  });

  it("has the exit codes of the other commands", async () => {
    await at.sluice(["api", "GET", "/sources/none"], 5);
    await at.sluice(["api", "POST", "/sources", "--data", "{"], 2);
    await at.sluice(["api", "FETCH", "/sources"], 2);
  });
});
