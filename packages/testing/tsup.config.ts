import { defineConfig } from "tsup";
import { libraryBuild } from "../../tsup.base.ts";

// Protocol travels inside: a test dependency should not bring a second copy of what the SDK has.
const bundled = ["@sluice/protocol"];

export default defineConfig(
  libraryBuild({
    entry: ["src/index.ts", "src/msw.ts", "src/undici.ts"],
    noExternal: bundled,
    dts: { resolve: bundled },
  }),
);
