import { defineConfig } from "tsup";
// @boundaries-ignore what all builds have in common stands at the root
import { libraryBuild } from "../../tsup.base.ts";

export default defineConfig(
  libraryBuild({
    // `edge` has the types of `index`.
    entry: { index: "src/index.ts", edge: "src/edge.ts", compat: "src/compat/index.ts" },
    dts: { entry: { index: "src/index.ts", compat: "src/compat/index.ts" } },
    // The client of `compat` uses the package as an application does, so that a process has one copy of it.
    external: ["@sluice/node"],
    // Each file stands alone: a bundler reads one of the two, never both.
    splitting: false,
  }),
);
