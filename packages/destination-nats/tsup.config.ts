import { defineConfig } from "tsup";

export default defineConfig({
  entry: ["src/index.ts"],
  format: ["esm"],
  target: "node22",
  clean: true,
  // The code is shipped readable; maps would double what is installed.
  sourcemap: false,
  // The interface stays an import: the manifest depends on it.
  dts: { compilerOptions: { paths: {} } },
  removeNodeProtocol: false,
});
