import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { defineConfig } from "vitepress";
import { linkedFiles, markdown, textOf } from "./markdown.js";
import { sidebar } from "./navigation.js";
import { linkPages, REWRITES } from "./pages.js";

const isHome = (relativePath) => relativePath === "index.md";

/** VitePress nests the arrow of a section, a button, in the section's heading, which is a button too and does the same. */
function sidebarOfSingleButtons() {
  const arrow = /(class="caret")\s+role="button"\s+aria-label="toggle section"([\s\S]*?)\s+tabindex="0"/;
  return {
    name: "sidebar-of-single-buttons",
    enforce: "pre",
    transform(code, id) {
      if (!id.endsWith("/VPSidebarItem.vue")) return;
      if (!arrow.test(code)) throw new Error("VPSidebarItem.vue has another arrow than this plugin knows");
      const single = code.replace(arrow, '$1 aria-hidden="true"$2');
      return single.replace(':role="itemRole"', ':role="itemRole" :aria-expanded="itemRole && !collapsed"');
    },
  };
}

export default defineConfig({
  title: "Sluice",
  description: "An event collection kit for TypeScript: SDK, collector, signed webhooks.",
  lang: "en",
  // The path below which the site is served.
  base: process.env.SITE_BASE ?? "/",
  srcDir: linkPages(),
  rewrites: REWRITES,
  outDir: "./dist",
  cacheDir: "./node_modules/.vitepress",
  ignoreDeadLinks: false,
  // Every file server knows `.html`.
  cleanUrls: false,
  head: [["link", { rel: "icon", type: "image/svg+xml", href: `${process.env.SITE_BASE ?? "/"}sluice.svg` }]],
  markdown,
  // The pages are links, whose imports are found from here.
  vite: {
    plugins: [sidebarOfSingleButtons()],
    resolve: {
      preserveSymlinks: true,
      // The original names a host for icons.
      alias: [
        {
          find: /^.*\/VPSocialLink\.vue$/,
          replacement: join(import.meta.dirname, "theme/no-social-link.vue"),
        },
      ],
    },
  },
  transformPageData(page) {
    if (!isHome(page.relativePath)) return;
    Object.assign(page.frontmatter, { sidebar: false, aside: false, pageClass: "home" });
  },
  buildEnd({ outDir }) {
    for (const [address, file] of linkedFiles) {
      const target = join(outDir, address);
      mkdirSync(dirname(target), { recursive: true });
      writeFileSync(target, textOf(file));
    }
  },
  themeConfig: {
    logo: "/sluice.svg",
    nav: [
      { text: "Start", link: "/start.md" },
      { text: "Quickstarts", link: "/guide/quickstarts.md" },
      { text: "Reference", link: "/reference/options.md" },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: "local" },
    docFooter: { prev: "Previous", next: "Next" },
    externalLinkIcon: true,
  },
});
