import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { cli, collectorForCli } from "../support/cli.js";

let at: Awaited<ReturnType<typeof collectorForCli>>;
beforeAll(async () => {
  at = await collectorForCli();
  for (const plan of ["pro", "free"])
    await at.sluice(["send", "identify", "--user", `user-${plan}`, "--traits", JSON.stringify({ plan })]);
});
afterAll(() => at[Symbol.asyncDispose]());

const json = async (args: readonly string[], expected = 0) =>
  JSON.parse((await at.sluice([...args, "--json"], expected)).out);
const PRO = JSON.stringify({ kind: "trait", trait: "plan", is: "equals", value: "pro" });

describe("audiences", () => {
  it("are previewed, created, explained, changed and deleted", async () => {
    await writeFile(join(at.directory, "pro.json"), PRO);
    expect(await json(["audiences", "preview", "--condition", "@pro.json"])).toMatchObject({
      size: 1,
      sample: [{ userId: "user-pro" }],
    });
    const { id } = await json(["audiences", "create", "Pro Users", "--condition", PRO, "--every", "2h"]);
    expect(await json(["audiences", "get", "Pro Users"])).toMatchObject({
      id,
      key: "pro_users",
      sync: { initialDelayMs: 0, everyMs: 7_200_000 },
    });
    expect((await at.sluice(["audiences", "why", "Pro Users", "user-free"])).out).toBe(
      'user-free is not in Pro Users\n  no  trait plan equals "pro" (is "free")\n',
    );
    expect(await json(["audiences", "pause", id])).toMatchObject({ status: { state: "paused" } });
    expect(await json(["audiences", "resume", id])).toMatchObject({ paused: false });
    expect(await json(["audiences", "update", id, "--name", "Payers"])).toMatchObject({ key: "pro_users" });
    expect((await at.sluice(["audiences", "members", id])).out).toContain("user-pro");
    await at.sluice(["audiences", "delete", id], 2);
    await at.sluice(["audiences", "delete", id, "--yes"]);
    await at.sluice(["audiences", "get", id], 5);
  });

  it.each([
    ["invalid JSON", "{", /not valid JSON/],
    [
      "a wrong operator",
      '{"kind":"not","condition":{"kind":"trait","trait":"a","is":"like"}}',
      /condition\.condition\.is/,
    ],
  ])("refuses %s before anything is sent", async (_what, condition, message) => {
    expect((await at.sluice(["audiences", "create", "X", "--condition", condition], 2)).err).toMatch(message);
  });
});

describe("computed traits", () => {
  it("are previewed, created, shown, changed and deleted", async () => {
    for (const total of [3, 4])
      await at.sluice([
        "send",
        "track",
        "--event",
        "Paid",
        "--user",
        "user-paying",
        "--properties",
        JSON.stringify({ total }),
      ]);
    const asked = ["--kind", "sum", "--event", "Paid", "--property", "total", "--within", "30d"];
    expect(await json(["traits", "preview", ...asked])).toMatchObject({
      size: 1,
      sample: [{ userId: "user-paying", value: 7 }],
    });
    expect((await at.sluice(["traits", "preview", ...asked])).out).toMatch(
      /^1 of \d+ users would have a value \(found in \d+ ms\)\nUSER +VALUE\nuser-paying +7\n$/,
    );
    const { id } = await json([
      ...["traits", "create", "Total Spent", "--kind", "sum", "--event", "Paid"],
      ...["--property", "total", "--within", "30d"],
    ]);
    expect(await json(["traits", "get", "Total Spent"])).toMatchObject({
      id,
      key: "total_spent",
      kind: "sum",
      withinMs: 30 * 24 * 60 * 60 * 1_000,
    });
    expect((await at.sluice(["traits", "list"])).out).toMatch(/sum +total +Paid/);
    while ((await json(["traits", "get", id])).status.state !== "live");
    expect((await at.sluice(["profiles", "get", "user-paying"])).out).toContain("total_spent: 7\n");
    expect(await json(["traits", "values", "Total Spent"])).toEqual({
      items: [{ userId: "user-paying", value: 7 }],
    });
    expect((await at.sluice(["traits", "values", id, "-n", "1"])).out).toMatch(/user-paying +7/);
    expect(await json(["traits", "why", "Total Spent", "user-paying"])).toMatchObject({
      value: 7,
      events: 2,
      madeOf: [{ value: 4 }, { value: 3 }],
    });
    expect((await at.sluice(["traits", "why", "Total Spent", "user-paying"])).out).toMatch(
      /^userId: user-paying\nvalue: 7\nevents: 2\nwindowFrom: \S+\nchangesAt: \S+\nmadeOf:\n +AT +VALUE.*\n +\S+ +4 /,
    );
    await at.sluice(["traits", "why", "Total Spent", "nobody"], 5);
    expect(await json(["traits", "update", id, "--kind", "max", "--name", "Dearest"])).toMatchObject({
      kind: "max",
      name: "Dearest",
      key: "total_spent",
    });
    expect(await json(["traits", "disable", id])).toMatchObject({ enabled: false });
    expect(await json(["traits", "enable", id])).toMatchObject({ enabled: true });
    await at.sluice(["traits", "create", "No property", "--kind", "sum", "--event", "Paid"], 2);
    await at.sluice(["traits", "create", "No kind", "--kind", "sums", "--event", "Paid"], 2);
    await at.sluice(["traits", "delete", id], 2);
    await at.sluice(["traits", "delete", id, "--yes"]);
    await at.sluice(["traits", "get", id], 5);
  });
});

describe("apply", () => {
  it("creates, changes and prunes audiences, and then finds nothing to change", async () => {
    const declare = (audiences: unknown[]) =>
      writeFile(
        join(at.directory, "audiences.json"),
        JSON.stringify({
          destinations: [
            { name: "CRM", type: "webhooks", settings: { webhooks: [{ url: "http://127.0.0.1:9/" }] } },
          ],
          audiences,
        }),
      );
    const apply = async (...options: string[]) =>
      (
        await json(["apply", "audiences.json", ...options], options.includes("--dry-run") ? 6 : 0)
      ).changes.map(
        ({ action, section, name }: { action: string; section: string; name: string }) =>
          `${action} ${section} ${name}`,
      );
    const pro = { name: "Applied", condition: JSON.parse(PRO), destinations: ["CRM"] };
    await declare([pro]);
    expect(await apply("--dry-run")).toEqual(["create destinations CRM", "create audiences Applied"]);
    expect(await apply()).toEqual(["create destinations CRM", "create audiences Applied"]);
    expect((await json(["apply", "audiences.json"])).changes).toEqual([]);
    await declare([{ ...pro, trackEvents: true, sync: { everyMs: 60_000 } }]);
    expect(await apply()).toEqual(["update audiences Applied"]);
    expect(await json(["audiences", "get", "Applied"])).toMatchObject({
      trackEvents: true,
      sync: { everyMs: 60_000 },
      destinationIds: [expect.any(String)],
    });
    await declare([]);
    expect(await apply("--prune")).toContain("delete audiences Applied");
    await at.sluice(["audiences", "get", "Applied"], 5);
  });
});

describe("profiles and deletions", () => {
  it("shows a profile, deletes the user, lists suppressed ids and lifts one", async () => {
    expect((await at.sluice(["profiles", "get", "user-pro"])).out).toContain("plan: pro\n");
    await at.sluice(["deletions", "create", "user-pro"], 2);
    const [planned] = (await json(["deletions", "create", "user-pro", "--dry-run"])).users;
    expect(planned).toMatchObject({ userId: "user-pro", profile: true, aliases: [] });
    const refused = cli(["deletions", "create", "user-pro"], { env: at.env, stdin: "n\n", canAsk: true });
    expect(await refused.code).toBe(1);
    expect(refused.err()).toMatch(
      /user-pro +\d+[\s\S]*Delete this permanently\? \[y\/N\] Nothing was deleted\.\n$/,
    );
    expect((await json(["deletions", "list"])).items).toEqual([]);
    const accepted = cli(["deletions", "create", "nobody", "--json"], {
      env: at.env,
      stdin: "yes\n",
      canAsk: true,
    });
    expect(await accepted.code).toBe(0);
    const { id } = await json(["deletions", "create", "user-pro", "--suppress", "--yes"]);
    while ((await json(["deletions", "get", id])).status !== "finished");
    expect((await at.sluice(["deletions", "get", id])).out).toMatch(/erasedAt: \d/);
    expect((await json(["deletions", "list"])).items).toHaveLength(2);
    await at.sluice(["profiles", "get", "user-pro"], 5);
    expect((await json(["deletions", "suppressed"])).items).toHaveLength(1);
    await at.sluice(["deletions", "lift", "user-pro"]);
    const { out, err } = await at.sluice(["deletions", "create", "nobody", "--yes"]);
    const nothing = /^USER +MESSAGES +ATTEMPTS +QUEUED +PROFILE.*\nnobody +0 +0 +0 +no /;
    expect((await at.sluice(["deletions", "create", "nobody", "--dry-run"])).out).toMatch(nothing);
    expect(err).toMatch(nothing);
    expect(err).toMatch(/npx sluice deletions get del_\w+\n$/);
    expect(out).toMatch(/^ID +STATUS/);
    expect((await json(["deletions", "suppressed"])).items).toEqual([]);
  });

  it("distinguishes a user's other user ids from its anonymous ids", async () => {
    const sent = [
      ["identify", "--user", "ada-2", "--anonymous", "dev-1"],
      ["alias", "--user", "ada", "--previous", "ada-2"],
    ];
    for (const args of sent) await at.sluice(["send", ...args]);
    const { out: profile } = await at.sluice(["profiles", "get", "ada"]);
    expect(profile).toMatch(/userIds: ada, ada-2\n/);
    expect(profile).toMatch(/anonymousIds: ada-2, dev-1\n/);
    const plan = await at.sluice(["deletions", "create", "ada", "--include-aliases", "--dry-run"]);
    expect(plan.out).toMatch(/ALIASES\nada .* dev-1 +ada-2\n/);
    const planned = (await json(["deletions", "create", "ada", "--include-aliases", "--dry-run"])).users[0];
    expect(planned).toMatchObject({ anonymousIds: ["dev-1"], aliases: ["ada-2"] });
    const { id } = await json(["deletions", "create", "ada", "--include-aliases", "--yes"]);
    let deletion = await json(["deletions", "get", id]);
    while (deletion.status !== "finished") deletion = await json(["deletions", "get", id]);
    expect(deletion.receipt.users[0]).toMatchObject({ anonymousIds: 1, aliases: 1, aliasesLeft: 0 });
    expect((await at.sluice(["deletions", "get", id])).out).toMatch(/ANONYMOUS +ALIASES LEFT.* ALIASES\n/);
  });
});
