import { builtinModules } from "node:module";
import { basename } from "node:path";
import type { Options } from "tsup";
import { writeLicenses } from "./scripts/third-party-licenses.ts";

type EsbuildPlugin = NonNullable<Options["esbuildPlugins"]>[number];

/** Writes the licences of third-party code that was bundled to `dist`. */
export function keepLicenses(): EsbuildPlugin {
  return {
    name: "keep-licenses",
    setup(build) {
      build.onEnd(({ metafile }) => {
        const bundled = Object.values(metafile?.outputs ?? {}).flatMap(({ inputs }) =>
          Object.entries(inputs)
            .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
            .map(([module]) => module),
        );
        if (metafile !== undefined) writeLicenses("dist", bundled);
      });
    },
  };
}

/**
 * Lets CommonJS packages that are bundled into an ES module `require` what Node.js has: there is no `require` in ES modules. An
 * import instead would read every property of `node:http`, and so load Node.js's own fetch and WebSocket.
 */
export function requireBuiltins(): EsbuildPlugin {
  const names = new Set(builtinModules);
  return {
    name: "require-builtins",
    setup(build) {
      build.onResolve({ filter: /^(node:)?[a-z0-9_/]+$/ }, ({ path, kind }) => {
        const name = path.replace(/^node:/, "");
        return kind === "require-call" && names.has(name) ? { path: name, namespace: "builtin" } : undefined;
      });
      build.onLoad({ filter: /.*/, namespace: "builtin" }, ({ path }) => ({
        contents: `module.exports = process.getBuiltinModule("node:${path}");`,
      }));
    },
  };
}

/** Replaces modules that match and are never called by ones that throw: they would only take time and memory at each start. */
export function leaveOut(filter: RegExp): EsbuildPlugin {
  return {
    name: "leave-out",
    setup(build) {
      build.onLoad({ filter }, ({ path }) => ({
        contents: `module.exports = () => { throw new Error(${JSON.stringify(`${basename(path)} is not part of this build`)}); };`,
      }));
    },
  };
}

/** What every package's build has in common; a package adds its entries and, where it supports Node 20, its target. */
export function libraryBuild(options: Options): Options {
  return {
    format: ["esm", "cjs"],
    dts: true,
    clean: true,
    // The code is shipped readable; maps would double what is installed.
    sourcemap: false,
    treeshake: true,
    target: "node20",
    // Deno, and bundlers for edge runtimes, know the modules of Node.js by their prefix only.
    removeNodeProtocol: false,
    // Private packages have no life on the registry: their code travels inside those that use it.
    noExternal: ["@sluice/resilience"],
    esbuildPlugins: [keepLicenses()],
    ...options,
  };
}
