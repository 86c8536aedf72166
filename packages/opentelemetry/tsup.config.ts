import { defineConfig } from "tsup";

export default defineConfig({
  entry: ["src/index.ts"],
  format: ["esm"],
  target: "node22",
  clean: true,
  // The code is shipped readable; maps would double what is installed.
  sourcemap: false,
  // Only types of the collector are used: they stay imports, and the manifest names it as an optional peer.
  dts: { compilerOptions: { paths: {} } },
  removeNodeProtocol: false,
});
