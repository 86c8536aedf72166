import { defineConfig } from "tsup";
// @boundaries-ignore what all builds have in common stands at the root
import { libraryBuild } from "../../tsup.base.ts";

// Both travel inside: who installs the SDK gets three packages (node, core, undici).
// (tsup leaves types alone that `paths` maps to sources, so there are none for it.)
const bundled = ["@sluice/protocol", "@sluice/resilience"];

export default defineConfig(
  libraryBuild({
    entry: ["src/index.ts"],
    noExternal: bundled,
    dts: { resolve: bundled, compilerOptions: { paths: {} } },
  }),
);
