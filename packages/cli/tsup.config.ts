import { defineConfig } from "tsup";

export default defineConfig({
  entry: ["src/main.ts"],
  format: ["esm"],
  target: "node22",
  clean: true,
  sourcemap: true,
  // Private packages have no life on the registry: their code travels inside.
  noExternal: ["@sluice/admin-client", "@sluice/resilience", "@sluice/protocol"],
});
