import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { differencesOf } from "./calls.ts";
import { CLIENTS, type Client } from "./clients.ts";
import { matrixPage, PAGE } from "./matrix.ts";
import { runTrials } from "./run.ts";
import { installed, isEverythingInstalled } from "./toolchains.ts";
import { type Findings, userOf } from "./trials.ts";

const clients = CLIENTS.filter(({ language }) => installed(language));
let findings: Map<Client, Findings>;

describe.skipIf(clients.length === 0)("other vendors' clients", () => {
  beforeAll(async () => {
    findings = await runTrials(clients);
  }, 300_000);

  test.each(clients.map((client) => [client.id, client] as const))(
    "%s sends what it was given",
    (_id, client) => {
      const found = findings.get(client);
      const user = userOf(client, "calls");
      expect(differencesOf(client, user, found?.calls ?? [])).toEqual(Object.keys(client.changes));
      expect(found?.changedOnTheWay).toEqual([]);
      expect(found?.doesCloseSend).toBe(true);
      expect(found?.helped).toEqual(Object.keys(client.helps ?? {}));
    },
  );

  test.skipIf(!isEverythingInstalled)("the page has these clients and versions", () => {
    // How a client retries depends on the machine's pace, so only a run with `--write` decides about the rest of the page.
    const written = matrixPage(findings).split("## What arrives")[0];
    expect(readFileSync(PAGE, "utf8").split("## What arrives")[0]).toBe(written);
  });
});

/** Words that the page and the guide share, one for each fault. */
const FAULTS = [
  ..."zone 500_KB without_a_report 401 `Retry-After` gives_up closed".split(" "),
  ..."next_messages stored_twice `anonymousId` `sentAt` above_32_KB a_429".split(" "),
].map((words) => words.replaceAll("_", " "));

test("the guide has each fault of the page, and the settings that avoid it", () => {
  const guide = readFileSync(join(import.meta.dirname, "../../docs/guide/existing-clients.md"), "utf8");
  const [, rows = ""] = /### What these clients do wrong([\s\S]*?)\n### /.exec(guide) ?? [];
  let who = "";
  const said = [...rows.matchAll(/^\| (.*?) \| (.*) \|$/gm)].map(([, first = "", rest = ""]) => {
    if (first !== "the same") who = first;
    return { who, rest };
  });
  const [, page = ""] = readFileSync(PAGE, "utf8").split("## Faults of their own");
  for (const { vendor, language } of CLIENTS) {
    const [, faults = "", settings = ""] =
      new RegExp(`^\\| ${vendor}, ${language} \\| (.*) \\| (.*) \\|$`, "m").exec(page) ?? [];
    // Such as "Segment and RudderStack for Go and Java, PostHog for Rust".
    const isMeant = new RegExp(`(^|, )[^,]*(all|${vendor}) [^,]*for [^,]*${language}`);
    const text = said.flatMap(({ who, rest }) => (isMeant.test(who) ? [rest] : [])).join("\n");
    for (const fault of FAULTS)
      expect([vendor, language, fault, text.includes(fault)]).toEqual([
        vendor,
        language,
        fault,
        faults.includes(fault),
      ]);
    for (const [, setting = ""] of settings.matchAll(/`(.+?)`/g)) expect(text).toContain(setting);
  }
});
