import { defineConfig } from "tsup";

/** The types of one entry: types that two entries share would go to a third file, which bundles of this package leave behind. */
const typesOf = (entry: Record<string, string>) => ({
  entry,
  format: ["esm" as const],
  dts: { entry, only: true },
});

export default defineConfig([
  {
    entry: ["src/index.ts", "src/contract.ts", "src/http.ts"],
    format: ["esm"],
    target: "node22",
    clean: true,
    // The code is shipped readable; maps would double what is installed.
    sourcemap: false,
    dts: { entry: { index: "src/index.ts" } },
    removeNodeProtocol: false,
  },
  typesOf({ contract: "src/contract.ts" }),
  typesOf({ http: "src/http.ts" }),
]);
