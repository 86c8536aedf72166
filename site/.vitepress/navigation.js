import { addressOf, pagesIn, titleOf } from "./pages.js";

/**
 * The sections by what a reader wants to do. A page is a file of docs/, without `.md`, or `[file, shorter name]`.
 * An address that begins with a slash is a generated page. A page of guide/ or reference/ that stands nowhere is appended to the section with `rest`.
 */
const SECTIONS = [
  {
    name: "Start",
    pages: [
      ["../README", "Start"],
      "guide/install",
      "guide/quickstarts",
      "guide/dashboard",
      "guide/comparison",
    ],
  },
  {
    name: "Send events",
    pages: [
      "guide/sdk",
      ["guide/sdk-hooks", "Hooks"],
      ["guide/sdk-shutdown", "Shutdown"],
      "guide/serverless",
      "guide/sdk-backfills",
      "guide/sdk-testing",
      "guide/existing-clients",
      ["guide/from-segment", "From Segment"],
      ["guide/from-other-clients", "From other services"],
    ],
  },
  {
    name: "Destinations and webhooks",
    pages: ["guide/destinations", "guide/transformations", "guide/webhooks"],
  },
  {
    name: "Users",
    pages: ["guide/audiences", "guide/deletions"],
  },
  {
    name: "Operate",
    rest: "guide",
    pages: ["guide/not-arrived", "guide/durability", "guide/notifications", "guide/regions"],
  },
  {
    name: "Reference",
    rest: "reference",
    pages: [
      ["reference/options", "SDK options"],
      "reference/http-api",
      "benchmarks",
      ["reference/configuration", "Configuration"],
      "reference/cli",
      ["/reference/commands.md", "All commands"],
      "reference/control-api",
      ["/reference/endpoints.md", "All endpoints"],
      "reference/webhook-delivery",
      "reference/errors",
      "reference/conditions",
      "reference/tracking-plans",
    ],
  },
  {
    name: "The project",
    rest: "contributing",
    isCollapsed: true,
    pages: [
      "../ARCHITECTURE",
      "../CONTRIBUTING",
      ["../SECURITY", "Security"],
      "../CODE_OF_CONDUCT",
      ["../CHANGELOG", "Changelog"],
    ],
  },
  { name: "Decisions", rest: "decisions", isCollapsed: true, pages: [] },
];

const fileOf = (page) => (page.startsWith("../") ? `${page.slice(3)}.md` : `docs/${page}.md`);

const sections = SECTIONS.map(({ pages, ...section }) => ({
  ...section,
  items: pages.map((entry) => {
    const [page, name] = Array.isArray(entry) ? entry : [entry];
    return page.startsWith("/") ? { link: page, name } : { file: fileOf(page), name };
  }),
}));

const named = new Set(sections.flatMap(({ items }) => items.map(({ file }) => file)));

const restOf = (folder) =>
  folder === undefined
    ? []
    : pagesIn(folder)
        .filter((file) => !named.has(file))
        .map((file) => ({ file }));

export const sidebar = sections.map(({ name, rest, isCollapsed, items }) => ({
  text: name,
  ...(isCollapsed ? { collapsed: true } : { collapsed: false }),
  items: [...items, ...restOf(rest)].map(({ file, link, name: shorter }) => ({
    text: shorter ?? titleOf(file),
    link: link ?? addressOf(file),
  })),
}));
