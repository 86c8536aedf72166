/**
 * Lets a child process run our TypeScript as it is: `node --import …/source-loader.mjs file.ts`. Node.js strips the types;
 * this finds the sources behind `.js` imports and behind our packages' names.
 */
import { readFileSync } from "node:fs";
import { enableCompileCache, registerHooks } from "node:module";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);
const { compilerOptions } = JSON.parse(readFileSync(new URL("tsconfig.base.json", root), "utf8"));

// Stripped and compiled code is kept between processes. It halves the CPU time of starting a collector from sources.
enableCompileCache(fileURLToPath(new URL("node_modules/.cache/compiled-sources", root)));

registerHooks({
  resolve(specifier, context, next) {
    const [source] = compilerOptions.paths[specifier] ?? [];
    if (source !== undefined) return next(new URL(source, root).href, context);
    const isOurs = /^\.\.?\//.test(specifier) && context.parentURL?.endsWith(".ts");
    return next(isOurs ? specifier.replace(/\.js$/, ".ts") : specifier, context);
  },
});
