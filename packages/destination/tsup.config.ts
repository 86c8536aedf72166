import { defineConfig } from "tsup";

export default defineConfig({
  entry: ["src/index.ts", "src/contract.ts", "src/http.ts"],
  format: ["esm"],
  target: "node22",
  clean: true,
  // The code is shipped readable; maps would double what is installed.
  sourcemap: false,
  dts: true,
  removeNodeProtocol: false,
});
