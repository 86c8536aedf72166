import { cpSync, existsSync } from "node:fs";
import { defineConfig } from "tsup";

const bundled = [
  "@sluice/audiences",
  "@sluice/control-api",
  "@sluice/event-log",
  "@sluice/protocol",
  "@sluice/resilience",
];

export default defineConfig({
  entry: {
    index: "src/index.ts",
    main: "src/process/main.ts",
    "store-worker": "src/process/store-worker.ts",
    "audience-worker": "src/process/audience-worker.ts",
    testing: "src/testing.ts",
  },
  format: ["esm"],
  target: "node22",
  clean: true,
  sourcemap: true,
  // The published package brings our private packages' code along.
  noExternal: bundled,
  // tsup leaves types alone that `paths` maps to sources, so there are none for it.
  dts: {
    entry: ["src/index.ts", "src/testing.ts"],
    resolve: [...bundled, "@sluice/resilience/node", "@sluice/resilience/testing"],
    compilerOptions: { paths: {} },
  },
  // `node:sqlite` exists under that name only.
  removeNodeProtocol: false,
  // The dashboard is built before (it is a dev dependency), and is served from beside the collector's code.
  async onSuccess() {
    if (existsSync("../dashboard/dist")) cpSync("../dashboard/dist", "dist/dashboard", { recursive: true });
  },
});
