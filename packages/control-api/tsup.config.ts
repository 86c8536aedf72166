import { defineConfig } from "tsup";
// @boundaries-ignore what all builds have in common stands at the root
import { libraryBuild } from "../../tsup.base.ts";

export default defineConfig(libraryBuild({ entry: ["src/index.ts"] }));
