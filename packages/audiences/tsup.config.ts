import { defineConfig } from "tsup";

const bundled = ["@sluice/event-log", "@sluice/protocol", "@sluice/resilience", "@sluice/resilience/node"];

export default defineConfig({
  entry: { index: "src/index.ts", worker: "src/engine/thread/worker.ts" },
  format: ["esm"],
  target: "node22",
  clean: true,
  sourcemap: true,
  noExternal: bundled,
  dts: { entry: ["src/index.ts"], resolve: bundled, compilerOptions: { paths: {} } },
  // `node:sqlite` exists under that name only.
  removeNodeProtocol: false,
});
