import { defineConfig } from "tsup";
// @boundaries-ignore what all builds have in common stands at the root
import { libraryBuild } from "../../tsup.base.ts";

// Two builds, so that the types of each entry are whole: those of a shared file could not be taken into another package.
// Neither cleans, since both run at once.
export default defineConfig([
  libraryBuild({ entry: ["src/index.ts"], clean: false }),
  libraryBuild({ entry: ["src/testing.ts"], clean: false }),
]);
