import { readFileSync } from "node:fs";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
// @boundaries-ignore the documents are at the root
import { guidePages } from "../../scripts/guide-pages.ts";
// @boundaries-ignore every build keeps licences in the same way
import { LICENSES_FILE, licensesText, thirdPartyPackages } from "../../scripts/third-party-licenses.ts";
// @boundaries-ignore where our sources lie is written at the root, once
import { sourceAliases } from "../../source-aliases.ts";
import { COMPILER_PATH, typeChecker } from "./type-checker.ts";

export default defineConfig({
  plugins: [react(), preloadFont(), guides(), adoptStyles(), keepLicenses()],
  resolve: { alias: sourceAliases },
  worker: { format: "es", plugins: () => [typeChecker()] },
  build: {
    target: "es2023",
    // The page is served under `default-src 'self'`: nothing may become a data: address or an inline script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 900,
  },
  server: {
    // `npm run dev -w @sluice/dashboard` beside `sluice dev`.
    proxy: Object.fromEntries(["/api", "/v1", "/metrics"].map((path) => [path, "http://127.0.0.1:8787"])),
  },
});

/** Asks for the font with the page, not when the style sheet has come: it is there for the first text. */
function preloadFont(): Plugin {
  return {
    name: "preload-font",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler: (_html, { bundle = {} }) =>
        Object.keys(bundle)
          .filter((name) => name.endsWith(".woff2"))
          .map((name) => ({
            tag: "link",
            attrs: { rel: "preload", as: "font", type: "font/woff2", href: `/${name}`, crossorigin: true },
            injectTo: "head-prepend",
          })),
    },
  };
}

/** Adds the guides as pages below `/docs`. */
function guides(): Plugin {
  return {
    name: "guides",
    apply: "build",
    generateBundle() {
      for (const { path, html } of guidePages())
        this.emitFile({ type: "asset", fileName: path, source: html });
      const style = readFileSync(new URL("../../scripts/guide-pages.css", import.meta.url));
      this.emitFile({ type: "asset", fileName: "docs/guides.css", source: style });
    },
  };
}

/** Lets CodeMirror set its styles in a constructed sheet, as it does in shadow roots: the policy allows no style element. */
function adoptStyles(): Plugin {
  const ONLY_IN_SHADOW_ROOTS = "!root.head && ";
  return {
    name: "adopt-styles",
    apply: "build",
    transform(code, id) {
      if (!id.includes("/style-mod/")) return;
      if (!code.includes(ONLY_IN_SHADOW_ROOTS))
        this.error("style-mod has changed: look where it makes a sheet");
      return { code: code.replace(ONLY_IN_SHADOW_ROOTS, ""), map: null };
    },
  };
}

/** Adds the licences of everything that was bundled, styles and fonts included. The collector serves the file. */
function keepLicenses(): Plugin {
  return {
    name: "keep-licenses",
    apply: "build",
    generateBundle(_options, bundle) {
      // Fonts are assets, and no modules.
      const assets = Object.values(bundle).flatMap((file) =>
        file.type === "asset" ? file.originalFileNames : [],
      );
      const source = licensesText(thirdPartyPackages([...this.getModuleIds(), ...assets, COMPILER_PATH]));
      this.emitFile({ type: "asset", fileName: LICENSES_FILE, source });
    },
  };
}
