import { basename } from "node:path";
import type { Application } from "./application.ts";

/** Where a bundle runs: chooses the export conditions of packages. */
export type Target = "node" | "workerd" | "edge";
export type Format = "esm" | "cjs";

export interface Bundling {
  readonly application: Application;
  /** The name of the source file in the application. */
  readonly source: string;
  /** The name of the bundle. */
  readonly output: string;
  readonly target: Target;
  readonly format: Format;
  /** Names in the source and their values. */
  readonly define?: Readonly<Record<string, string>>;
  /** Modules that the runtime has. Only esbuild has it. */
  readonly external?: readonly string[];
  /** Code in front of the bundle. Only esbuild has it. */
  readonly banner?: string;
}

/** Bundlers by name, configured as their users do. A warning of a bundler is an error. */
export const BUNDLERS = { esbuild, webpack, rollup } as const;

const CONDITIONS: Readonly<Record<Target, readonly string[]>> = {
  node: ["node"],
  workerd: ["workerd", "worker", "browser"],
  edge: ["edge-light", "worker", "browser"],
};

async function esbuild({
  application,
  source,
  output,
  target,
  format,
  define = {},
  external = [],
  banner,
}: Bundling): Promise<void> {
  const { build } = await import("esbuild");
  const { warnings } = await build({
    entryPoints: [application.path(source)],
    outfile: application.path(output),
    bundle: true,
    format: target === "edge" ? "iife" : format,
    platform: target === "node" ? "node" : "browser",
    ...(target !== "node" && { conditions: [...CONDITIONS[target]] }),
    external: ["cloudflare:workers", ...external],
    ...(banner && { banner: { js: banner } }),
    define: jsonValues(define),
    logLevel: "silent",
  });
  if (warnings.length > 0) throw new Error(JSON.stringify(warnings));
}

async function webpack({
  application,
  source,
  output,
  target,
  format,
  define = {},
}: Bundling): Promise<void> {
  const { default: webpackOf } = await import("webpack");
  const compiler = webpackOf({
    context: application.folder,
    entry: application.path(source),
    mode: "production",
    target: target === "node" ? "node20" : "webworker",
    output: {
      path: application.folder,
      filename: basename(output),
      chunkFormat: false,
      ...(format === "esm"
        ? { module: true, library: { type: "module" } }
        : { library: { type: "commonjs2" } }),
    },
    experiments: { outputModule: format === "esm" },
    resolve: { conditionNames: [...CONDITIONS[target], "..."] },
    plugins: [
      new webpackOf.DefinePlugin(jsonValues(define)),
      new webpackOf.optimize.LimitChunkCountPlugin({ maxChunks: 1 }),
    ],
    // The SDK is tested, not the minifier, which takes most of the time.
    optimization: { minimize: false },
    performance: false,
  });
  await new Promise<void>((resolve, reject) => {
    compiler.run((error, stats) => {
      if (error) reject(error);
      else if (stats?.hasErrors() || stats?.hasWarnings()) reject(new Error(stats.toString()));
      else compiler.close(() => resolve());
    });
  });
}

async function rollup({ application, source, output, target, format, define = {} }: Bundling): Promise<void> {
  const { rollup: rollupOf } = await import("rollup");
  const { default: commonjs } = await import("@rollup/plugin-commonjs");
  const { nodeResolve } = await import("@rollup/plugin-node-resolve");
  const values = {
    name: "define",
    transform: (code: string) =>
      Object.entries(jsonValues(define)).reduce((text, [name, value]) => text.replaceAll(name, value), code),
  };
  const bundle = await rollupOf({
    input: application.path(source),
    plugins: [
      values,
      nodeResolve({
        exportConditions: [...CONDITIONS[target]],
        preferBuiltins: target === "node",
        browser: target !== "node",
      }),
      commonjs(),
    ],
    onwarn: ({ code, message }) => {
      // undici's own modules import each other in circles, and the plugin does not know the module `node:sqlite` yet.
      const isUndici = code === "CIRCULAR_DEPENDENCY" || message.startsWith('"node:sqlite"');
      if (target !== "node" || !isUndici) throw new Error(message);
    },
  });
  const chunkFileNames = `[name]-[hash].${format === "esm" ? "mjs" : "cjs"}`;
  await bundle.write({
    dir: application.folder,
    entryFileNames: output,
    chunkFileNames,
    format,
    exports: "named",
  });
  await bundle.close();
}

function jsonValues(define: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(define).map(([name, value]) => [name, JSON.stringify(value)]));
}
