import { readFileSync } from "node:fs";
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
