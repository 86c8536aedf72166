import { defineConfig, type Options } from "tsup";

const bundled = ["@sluice/protocol", "@sluice/resilience", "@sluice/resilience/node"];

/** The types of one entry: types that two entries share would go to a third file, which bundles of this package leave behind. */
const typesOf = (entry: Record<string, string>) => ({
  entry,
  resolve: bundled,
  compilerOptions: { paths: {} },
});

/** Whoever bundles this package bundles the client of NATS too. */
const external: Options["external"] = [/^@nats-io\//];

export default defineConfig([
  {
    entry: {
      index: "src/index.ts",
      jetstream: "src/jetstream/index.ts",
      worker: "src/sqlite/thread/worker.ts",
    },
    format: ["esm"],
    target: "node22",
    clean: true,
    sourcemap: true,
    noExternal: bundled,
    external,
    dts: typesOf({ index: "src/index.ts" }),
    // `node:sqlite` exists under that name only.
    removeNodeProtocol: false,
  },
  {
    entry: { jetstream: "src/jetstream/index.ts" },
    format: ["esm"],
    external,
    dts: { ...typesOf({ jetstream: "src/jetstream/index.ts" }), only: true },
  },
]);
