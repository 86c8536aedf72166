import type { Options } from "tsup";

/** What every package's build has in common; a package adds its entries and, where it supports Node 20, its target. */
export function libraryBuild(options: Options): Options {
  return {
    format: ["esm", "cjs"],
    dts: true,
    clean: true,
    sourcemap: true,
    treeshake: true,
    target: "node20",
    // Private packages have no life on the registry: their code travels inside those that use it.
    noExternal: ["@sluice/resilience"],
    ...options,
  };
}
