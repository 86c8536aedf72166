import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Targets } from "../../src/commands/import/choose-delivery.js";
import { chooseDelivery } from "../../src/commands/import/choose-delivery.js";
import { countRecords } from "../../src/commands/import/reading/count-records.js";
import type { FileRecord } from "../../src/commands/import/reading/read-records.js";
import { cli, collectorForCli, receiver } from "../support/cli.js";

let at: Awaited<ReturnType<typeof collectorForCli>>;
let hook: Awaited<ReturnType<typeof receiver>>;
beforeAll(async () => {
  at = await collectorForCli();
  hook = await receiver();
  await at.sluice(["destinations", "create", "--name", "Ware\u001b[31mhouse", "--webhook", hook.url]);
  await at.sluice(["destinations", "create", "--name", "Mailer", "--webhook", hook.url]);
  await at.sluice(["destinations", "create", "--name", "Old CRM", "--webhook", hook.url, "--disabled"]);
});
afterAll(async () => {
  await at[Symbol.asyncDispose]();
  await hook[Symbol.asyncDispose]();
});

let files = 0;
const history = async (...messages: object[]): Promise<string> => {
  const file = join(at.directory, `history-${files++}.jsonl`);
  await writeFile(file, messages.map((message) => JSON.stringify(message)).join("\n"));
  return file;
};
const paid = (messageId: string, fields: object = {}) => ({
  type: "track",
  event: "Paid",
  userId: "u-1",
  messageId,
  timestamp: "2020-01-01T00:00:00Z",
  ...fields,
});
const outcomes = async (messageId: string): Promise<string[]> => {
  for (;;) {
    const { out } = await at.sluice(["messages", "get", messageId, "--json"]);
    const found: { state: string; reason: string }[] = JSON.parse(out).outcomes;
    if (found.some(({ state }) => state === "pending")) continue;
    return found.map(({ state, reason }) => `${state}: ${reason}`);
  }
};
const onTerminal = async (args: string[], stdin: string) => {
  const running = cli(args, { env: at.env, cwd: at.directory, stdin, canAsk: true });
  return { code: await running.code, out: running.out(), err: running.err() };
};

describe("the delivery of an import", () => {
  it("has to be chosen where nobody can be asked, and nothing is sent until then", async () => {
    const file = await history(paid("never"));
    const { err } = await at.sluice(["import", file], 2);
    expect(err).toContain("Nothing was imported");
    expect(err).toContain("Mailer");
    expect(err).toContain("--no-deliver");
    await at.sluice(["messages", "get", "never"], 5);
  });

  it("is asked for on a terminal, with counts and destinations, and stops at any other answer", async () => {
    const file = await history(paid("asked-1"), paid("asked-2", { integrations: { Mailer: true } }));
    const declined = await onTerminal(["import", file], "\n");
    expect(declined.code).toBe(1);
    expect(declined.err).toContain("2 messages.");
    expect(declined.err).toContain("Ware\\u001b[31mhouse, Mailer get them");
    expect(declined.err).toContain("1 message names a destination");
    expect(declined.err).not.toContain("\u001b");
    await at.sluice(["messages", "get", "asked-1"], 5);
    const stored = await onTerminal(["import", file], "n\n");
    expect(stored).toMatchObject({ code: 0 });
    expect(stored.out).toContain("stored without delivery, except 1 that name a destination");
  });

  it("without delivery: messages are stored, traced and counted in profiles; `integrations` still decide", async () => {
    const file = await history(
      paid("quiet-1"),
      paid("quiet-2", { integrations: { All: true } }),
      paid("quiet-3", { integrations: { Mailer: true } }),
      { type: "identify", userId: "u-quiet", messageId: "quiet-4", traits: { plan: "pro" } },
    );
    const { out } = await at.sluice(["import", file, "--no-deliver", "--json"]);
    expect(JSON.parse(out)).toMatchObject({ accepted: 4, deliver: false, notes: {} });
    const reason = "filtered: not delivered: imported without delivery";
    expect((await outcomes("quiet-1")).filter((one) => one === reason)).toHaveLength(2);
    expect((await outcomes("quiet-2")).filter((one) => one === reason)).toHaveLength(2);
    const named = await outcomes("quiet-3");
    expect(named.filter((one) => one === reason)).toHaveLength(1);
    expect(named.filter((one) => one.startsWith("delivered"))).toHaveLength(1);
    expect(hook.received.filter(({ body }) => body.includes("quiet-"))).toHaveLength(1);
    const profile = await at.sluice(["profiles", "get", "u-quiet", "--json"]);
    expect(JSON.parse(profile.out).traits).toEqual({ plan: "pro" });
  });

  it("with delivery: says where messages go, and a message can still exclude a destination", async () => {
    const file = await history(paid("loud-1"), paid("loud-2", { integrations: { All: false } }));
    const { out, err } = await at.sluice(["import", file, "--deliver"]);
    expect(err).toContain("delivered to Ware\\u001b[31mhouse, Mailer");
    expect(err).toContain("Disabled, and skipped: Old CRM");
    expect(out).toContain("being delivered to Ware");
    expect((await outcomes("loud-1")).filter((one) => one.startsWith("delivered"))).toHaveLength(2);
    expect((await outcomes("loud-2")).filter((one) => one.startsWith("filtered: integrations"))).toHaveLength(
      2,
    );
  });

  it("counts and shows notes on accepted messages", async () => {
    const file = await history(paid("noted-1", { timestamp: "yesterday" }), paid("noted-2"));
    const { err } = await at.sluice(["import", file, "--no-deliver"]);
    expect(err).toContain("1 accepted message has the note timestamp_unparseable");
    const again = await at.sluice(["import", file, "--no-deliver", "--json"]);
    expect(JSON.parse(again.out).notes).toEqual({ timestamp_unparseable: 1 });
  });

  it("counts ids that were not joined", async () => {
    const web = JSON.parse((await at.sluice(["sources", "create", "Web", "--kind", "web", "--json"])).out);
    const identify = (messageId: string, userId: string) => ({
      type: "identify",
      messageId,
      userId,
      anonymousId: "shared-device",
    });
    const file = await history(identify("joined-1", "j-1"), identify("joined-2", "j-2"));
    const key = web.writeKeys[0].key;
    const { out } = await at.sluice(["import", file, "--no-deliver", "--write-key", key, "--json"]);
    expect(JSON.parse(out).notes).toEqual({ join_refused: 1 });
  });
});

const known: Targets = {
  kind: "known",
  client: {} as never,
  sourceId: "s",
  source: "Shop",
  enabled: ["A"],
  disabled: [],
};
const neverCount = () => Promise.reject(new Error("not counted"));
const io = () => ({ err() {} }) as never;

it.each<[string, Partial<Parameters<typeof chooseDelivery>[0]>, boolean]>([
  ["a flag decides", { given: false, earlier: true, canAsk: true }, false],
  ["an import that continues keeps its choice", { earlier: false }, false],
  [
    "nobody is asked without a destination",
    { canAsk: true, targets: { ...known, enabled: [] } as Targets },
    true,
  ],
])("%s", async (_name, question, expected) => {
  const asked = { given: undefined, earlier: undefined, targets: known, count: neverCount, canAsk: false };
  expect(await chooseDelivery({ ...asked, ...question }, io())).toBe(expected);
});

it("counts the messages after a line, up to a limit", async () => {
  async function* records(): AsyncGenerator<FileRecord> {
    for (let line = 1; line <= 10; line++)
      yield {
        line,
        raw: "",
        value:
          line === 10
            ? { ok: false, reason: "" }
            : { ok: true, message: { integrations: line === 9 ? { A: true } : { All: true, B: false } } },
      };
  }
  const { signal } = new AbortController();
  expect(await countRecords(records(), { afterLine: 2, signal })).toEqual({
    messages: 7,
    naming: 1,
    isMore: false,
  });
  expect(await countRecords(records(), { afterLine: 2, signal, limit: 3 })).toEqual({
    messages: 3,
    naming: 0,
    isMore: true,
  });
});
