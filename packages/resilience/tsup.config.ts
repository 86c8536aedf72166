import { defineConfig } from "tsup";
// @boundaries-ignore what all builds have in common stands at the root
import { libraryBuild } from "../../tsup.base.ts";

// One build for each entry, so that its types are in one file: packages that bundle them cannot take up a shared one.
// None cleans, because they run at the same time.
export default defineConfig([
  libraryBuild({ entry: ["src/index.ts"], clean: false }),
  libraryBuild({ entry: ["src/node.ts"], clean: false }),
  libraryBuild({ entry: ["src/testing.ts"], clean: false }),
]);
