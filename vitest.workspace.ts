import { existsSync, readdirSync } from "node:fs";
import { defineConfig } from "vitest/config";
import { sourceAliases } from "./source-aliases.ts";

/** One Vitest project a workspace folder; run with `vitest run --config vitest.workspace.ts`. */
const folders = ["packages", "apps", "examples"].flatMap((parent) =>
  readdirSync(parent)
    .map((name) => `${parent}/${name}`)
    .filter((folder) => existsSync(`${folder}/test`)),
);

export default defineConfig({
  resolve: { alias: sourceAliases },
  test: {
    // Two cores: more workers only slow the child processes down that crash and end-to-end tests start.
    maxWorkers: 2,
    projects: [...folders, "docs", "."]
      .filter((folder) => folder.includes("/") || existsSync(`${folder}/test`))
      .map((folder) => ({
        extends: true as const,
        test: {
          name: folder === "." ? "repository" : folder,
          root: folder,
          include: ["test/**/*.test.ts"],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      })),
  },
});
