import { cpSync, existsSync } from "node:fs";
import { defineConfig } from "tsup";
// @boundaries-ignore what all builds have in common stands at the root
import { keepLicenses, leaveOut, requireBuiltins } from "../../tsup.base.ts";

const bundled = [
  "@sluice/audiences",
  "@sluice/control-api",
  "@sluice/destination",
  "@sluice/event-log",
  "@sluice/protocol",
  "@sluice/resilience",
];

/** Loaded at every start. As hundreds of files of their own, they took a third of its CPU time. */
const bundledForStart = [
  ...["@opentelemetry/api", "@sinclair/typebox", "bintrees", "lru-cache", "prom-client", "tdigest"],
  /^undici\/lib\//,
];

/** HTTP/2, and bodies other than bytes: webhooks are sent over HTTP/1.1. */
const UNUSED_OF_UNDICI = /undici[\\/]lib[\\/](dispatcher[\\/]client-h2|web[\\/]fetch[\\/]body)\.js$/;

export default defineConfig({
  entry: {
    index: "src/index.ts",
    main: "src/process/main.ts",
    "store-worker": "src/process/store-worker.ts",
    "audience-worker": "src/process/audience-worker.ts",
    worker: "src/workers/worker.ts",
    testing: "src/testing.ts",
  },
  format: ["esm"],
  target: "node22",
  clean: true,
  esbuildPlugins: [requireBuiltins(), leaveOut(UNUSED_OF_UNDICI), keepLicenses()],
  // The published package brings our private packages' code along.
  noExternal: [...bundled, ...bundledForStart],
  // tsup leaves types alone that `paths` maps to sources, so there are none for it.
  dts: {
    entry: ["src/index.ts", "src/testing.ts"],
    resolve: [...bundled, "@sluice/resilience/node", "@sluice/resilience/testing"],
    // Types of the control API's schemas would need TypeBox, which is bundled.
    compilerOptions: { paths: {}, stripInternal: true },
  },
  // `node:sqlite` exists under that name only.
  removeNodeProtocol: false,
  // The dashboard is built before (it is a dev dependency), and is served from beside the collector's code.
  async onSuccess() {
    if (existsSync("../dashboard/dist")) cpSync("../dashboard/dist", "dist/dashboard", { recursive: true });
  },
});
