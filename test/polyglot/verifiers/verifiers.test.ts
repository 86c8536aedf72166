import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { beforeAll, describe, expect, test } from "vitest";
import { MODULES } from "../../clients/installed.ts";
import { installed, isEverythingInstalled } from "../toolchains.ts";
import { type Case, casesOf, collectDeliveries, isLarge } from "./deliveries.ts";
import { guideFiles } from "./guide.mjs";

const hasClients = process.env.CI !== undefined || existsSync(join(MODULES, "svix"));
if (!hasClients) console.warn("skipped: needs the verifiers of other vendors: npm run clients:install");

const PROGRAMS: readonly [language: string, isInstalled: boolean, command: readonly string[]][] = [
  ["JavaScript", hasClients && isEverythingInstalled, [process.execPath, "verifiers/verify.mjs"]],
  ["Python", installed("Python"), ["python/.venv/bin/python", "python/verify.py"]],
  ["Go", installed("Go"), ["go/bin/verify"]],
  [
    "Java",
    installed("Java"),
    ["java", "-XX:TieredStopAtLevel=1", "-cp", "java/target/lib/*:java/target/classes", "Verify"],
  ],
  ["Rust", installed("Rust"), ["rust/bin/verify"]],
];
const FOLDER = join(import.meta.dirname, "..");
const isTested = PROGRAMS.some(([, isInstalled]) => isInstalled);

/** What a program says of each case: of `standardwebhooks`, of `svix`, and of the guide's lines. */
async function verdicts(
  [program = "", ...args]: readonly string[],
  cases: readonly Case[],
): Promise<string[]> {
  const child = spawn(program, args, { cwd: FOLDER, stdio: ["pipe", "pipe", "inherit"] });
  const said = text(child.stdout);
  // If it ends early, its exit code says so.
  child.stdin.on("error", () => {});
  child.stdin.end(cases.map(({ delivery }) => `${JSON.stringify(delivery)}\n`).join(""));
  const [code] = await once(child, "exit");
  expect(code).toBe(0);
  return (await said).trimEnd().split("\n");
}

describe.skipIf(!isTested)("what the collector sends", () => {
  let cases: readonly Case[];
  beforeAll(async () => {
    cases = casesOf(await collectDeliveries());
  });

  test("is single, a batch and large, with text and binary secrets, and with two of them", () => {
    expect(cases.length).toBeGreaterThan(100);
    expect(cases.filter(({ delivery, isStandard }) => isStandard && isLarge(delivery)).length).toBe(6);
    const isBatch = ({ delivery }: Case): boolean =>
      delivery.body.startsWith('{"messages":[{') && delivery.body.includes("},{");
    expect(cases.filter((one) => one.isStandard && isBatch(one)).length).toBe(1);
  });

  test.each(PROGRAMS.filter(([, isInstalled]) => isInstalled))(
    "is verified in %s, and not if it was changed",
    async (_language, _isInstalled, command) => {
      const word = (isValid: boolean) => (isValid ? "valid" : "refused");
      const expected = cases.map(
        ({ name, isStandard, isSigned }) =>
          `${name}: ${word(isStandard)} ${word(isStandard)} ${word(isSigned)}`,
      );
      const said = await verdicts(command, cases);
      expect(said.map((line, index) => `${cases[index]?.name}: ${line}`)).toEqual(expected);
    },
    60_000,
  );
});

test.skipIf(!isTested)("the programs have the lines of the guide", () => {
  for (const { language, path, code } of guideFiles())
    expect([
      language,
      existsSync(path) ? readFileSync(path, "utf8") : "run npm run polyglot:install",
    ]).toEqual([language, code]);
});

test("the guide names the versions of the libraries", () => {
  const guide = readFileSync(join(FOLDER, "../../docs/guide/webhooks.md"), "utf8");
  const row = (language: string) =>
    guide.split("\n").find((line) => line.includes(` for ${language} |`)) ?? "";
  for (const [language, file, ...patterns] of [
    ["Python", "python/requirements.txt", /^standardwebhooks==(.+)$/m, /^svix==(.+)$/m],
    ["Go", "go/go.mod", /standard-webhooks\/libraries (v.+)$/m, /svix-webhooks v(.+)$/m],
    [
      "Java",
      "java/pom.xml",
      /standardwebhooks<\/artifactId>\s*<version>(.+?)</,
      /svix<\/artifactId>\s*<version>(.+?)</,
    ],
    ["Rust", "rust/Cargo.toml", /^standardwebhooks = "=(.+)"$/m, /^svix = "=(.+)"$/m],
  ] as const)
    for (const pattern of patterns) {
      const [, version] = pattern.exec(readFileSync(join(FOLDER, file), "utf8")) ?? [];
      expect(row(language)).toContain(` ${version} `);
    }
});
