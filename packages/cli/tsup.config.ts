import { defineConfig } from "tsup";
// @boundaries-ignore what all builds have in common stands at the root
import { keepLicenses } from "../../tsup.base.ts";

export default defineConfig({
  entry: ["src/main.ts"],
  format: ["esm"],
  target: "node22",
  clean: true,
  esbuildPlugins: [keepLicenses()],
  // Private packages are not published, so their code is bundled.
  noExternal: ["@sluice/admin-client", "@sluice/resilience", "@sluice/protocol"],
  removeNodeProtocol: false,
});
