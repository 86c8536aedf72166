import { defineConfig } from "tsup";
// @boundaries-ignore what all builds have in common stands at the root
import { libraryBuild } from "../../tsup.base.ts";

// Protocol travels inside: a test dependency should not bring a second copy of what the SDK has.
// (tsup leaves types alone that `paths` maps to sources, so there are none for it.)
const bundled = ["@sluice/protocol"];

export default defineConfig(
  libraryBuild({
    entry: ["src/index.ts", "src/msw.ts", "src/undici.ts"],
    noExternal: bundled,
    dts: { resolve: bundled, compilerOptions: { paths: {} } },
  }),
);
