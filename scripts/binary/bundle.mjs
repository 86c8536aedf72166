/** Bundles the built packages into scripts that need no other file. */
import { createRequire } from "node:module";
import { join } from "node:path";

/**
 * The scripts of the executable. Each sees itself at `sea:/NAME`: the code that looks for files next to itself finds them among
 * the executable's assets.
 */
const SCRIPTS = {
  "main.cjs": { stdin: 'import { main } from "./packages/cli/dist/main.js"; void main();' },
  "store-worker.js": { entry: "apps/collector/dist/store-worker.js" },
  "audience-worker.js": { entry: "apps/collector/dist/audience-worker.js" },
  "worker.js": { entry: "apps/collector/dist/worker.js" },
  "transformations-worker.js": { entry: "packages/transformations/dist/transformations-worker.js" },
};

/**
 * Answers the text of each script, and the modules that are in them.
 * @returns {Promise<{ scripts: Record<string, string>, modules: string[] }>}
 */
export async function bundle(root) {
  const { build } = createRequire(join(root, "test/release/package.json"))("esbuild");
  const scripts = {};
  const modules = new Set();
  for (const [name, { stdin, entry }] of Object.entries(SCRIPTS)) {
    const { outputFiles, metafile } = await build({
      ...(entry === undefined
        ? { stdin: { contents: stdin, resolveDir: root, sourcefile: name } }
        : { entryPoints: [entry] }),
      absWorkingDir: root,
      bundle: true,
      write: false,
      metafile: true,
      format: "cjs",
      platform: "node",
      target: "node24",
      legalComments: "none",
      // Names stay, because errors and logs show them.
      minifyWhitespace: true,
      minifySyntax: true,
      define: { "import.meta.url": JSON.stringify(`sea:/${name}`) },
      logLevel: "error",
    });
    scripts[name] = outputFiles[0].text;
    for (const module of Object.keys(metafile.inputs)) modules.add(join(root, module));
  }
  return { scripts, modules: [...modules] };
}
