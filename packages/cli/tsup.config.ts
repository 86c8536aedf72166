import { defineConfig } from "tsup";

export default defineConfig({
  entry: ["src/main.ts"],
  format: ["esm"],
  target: "node22",
  clean: true,
  sourcemap: true,
  // Private packages are not published, so their code is bundled.
  noExternal: ["@sluice/admin-client", "@sluice/resilience", "@sluice/protocol"],
});
