import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { addressOf, fileOfPage, ROOT } from "./pages.js";

const RAW = "/files/";

/** The files that pages link to, by their address on the site. `buildEnd` writes them. */
export const linkedFiles = new Map();

/** Where the sources are browsed, for example `https://github.com/OWNER/NAME/blob/main`. Without it the site has copies. */
const repository = process.env.SITE_REPOSITORY_URL;

/** A relative link of a page → the address on the site. Pages also link to files that are no pages. */
export function siteLink(href, page) {
  if (/^([a-z]+:|\/|#)/i.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const file = posix.normalize(posix.join(posix.dirname(page), path));
  const address = addressOf(file);
  if (address !== undefined) return anchor === undefined ? address : `${address}#${anchor}`;
  if (/\.(png|svg|gif)$/.test(file)) return href;
  // VitePress reports the link as dead.
  if (file.startsWith("..") || !existsSync(join(ROOT, file))) return `/missing/${file}`;
  if (file === "docs/reference") return "/reference/options.md";
  if (repository !== undefined) return `${repository}/${file}`;
  linkedFiles.set(`${RAW}${file}.txt`, file);
  return `${RAW}${file}.txt`;
}

/** Vue reads what VitePress makes of a page: `{{` in a text would be an expression. */
const withoutExpressions = (html) => html.replaceAll("{{", "&#123;&#123;");

/** GitHub hides a comment that is a line. So does the site, although it shows other HTML as text. */
function skipComment(state, line, _endLine, isSilent) {
  const text = state.src.slice(state.bMarks[line] + state.tShift[line], state.eMarks[line]);
  if (!/^<!--.*-->$/.test(text)) return false;
  if (!isSilent) state.line = line + 1;
  return true;
}

/** A plugin of markdown-it for pages that are also read on GitHub. */
function repositoryPages(md) {
  md.core.ruler.push("repository-links", ({ tokens, env }) => {
    const page = fileOfPage(env.realPath ?? env.path);
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type === "link_open") token.attrSet("href", siteLink(token.attrGet("href") ?? "", page));
    }
  });
  md.block.ruler.before("paragraph", "comment", skipComment, { alt: ["paragraph", "list", "blockquote"] });
  const { text, code_inline: inlineCode } = md.renderer.rules;
  md.renderer.rules.text = (...args) => withoutExpressions(text(...args));
  if (inlineCode !== undefined)
    md.renderer.rules.code_inline = (...args) => withoutExpressions(inlineCode(...args));
  // Tables scroll in a box of their own, so that a wide one does not move the page.
  md.renderer.rules.table_open = () => '<div class="wide-table" tabindex="0">\n<table tabindex="-1">\n';
  md.renderer.rules.table_close = () => "</table>\n</div>\n";
}

/** The anchor that GitHub gives a heading, so that links work in both places. */
function githubAnchor(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

export const markdown = {
  // `<T>` in a page is text.
  html: false,
  // Comments in code are easier to read than in the default themes.
  theme: { light: "github-light-default", dark: "github-dark-default" },
  config: repositoryPages,
  anchor: { slugify: githubAnchor },
};

/** Not written by hand, or not shown. */
const GENERATED = /^(node_modules|dist|package-lock\.json|\..*)$/;

/** The text of a file, or of all files of a folder one after the other. */
export function textOf(path) {
  return filesBelow(path)
    .map((file) => (file === path ? "" : `──── ${file}\n\n`) + readFileSync(join(ROOT, file), "utf8"))
    .join("\n");
}

function filesBelow(path) {
  if (!statSync(join(ROOT, path)).isDirectory()) return [path];
  const names = readdirSync(join(ROOT, path)).filter((name) => !GENERATED.test(name));
  return names.flatMap((name) => filesBelow(`${path}/${name}`));
}
