import { defineConfig, type Options } from "tsup";
// @boundaries-ignore what all builds have in common stands at the root
import { keepLicenses } from "../../tsup.base.ts";

const bundled = ["@sluice/protocol", "@sluice/resilience", "@sluice/resilience/node"];

/**
 * The code around the WebAssembly asks for a `require` that can read files, which a thread of the single executable cannot make.
 * It has its bytes embedded and reads no file.
 */
const withoutFiles: NonNullable<Options["esbuildPlugins"]>[number] = {
  name: "without-files",
  setup(build) {
    build.onLoad(
      { filter: /quickjs-singlefile-mjs-release-sync.dist.emscripten-module[\w-]*\.mjs$/ },
      async ({ path }) => {
        const { readFile } = await import("node:fs/promises");
        const text = await readFile(path, "utf8");
        const contents = text.replace(
          /globalThis\.process\?\.versions\?\.node[^;]*;if\(n\)\{let\{createRequire:b\}=await import\("module"\);var (\w+)=b\(import\.meta\.url\)\}/,
          "undefined,$1;",
        );
        if (contents === text) throw new Error(`${path} does not look for Node.js in the way that is known`);
        return { contents };
      },
    );
  },
};

export default defineConfig({
  entry: { index: "src/index.ts", "transformations-worker": "src/thread/worker.ts" },
  format: ["esm"],
  target: "node22",
  clean: true,
  // The code is shipped readable; maps would double what is installed.
  sourcemap: false,
  splitting: false,
  esbuildPlugins: [withoutFiles, keepLicenses()],
  noExternal: [...bundled, "quickjs-emscripten-core", /^@jitl\//],
  dts: { entry: { index: "src/index.ts" }, resolve: bundled, compilerOptions: { paths: {} } },
  removeNodeProtocol: false,
});
