import { defineConfig } from "tsup";
// @boundaries-ignore what all builds have in common stands at the root
import { libraryBuild } from "../../tsup.base.ts";

// The code is shipped readable; maps would double what is installed.
export default defineConfig(libraryBuild({ entry: ["src/index.ts"], sourcemap: false }));
