/** The guides and the reference as web pages, so that the dashboard has them where there is no internet. */
import { globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { Marked, type Token } from "marked";

const DOCS = join(import.meta.dirname, "../docs");
const INDEX = "README.md";

export interface GuidePage {
  /** For example `docs/guide/webhooks.html`. */
  readonly path: string;
  readonly html: string;
}

/** One page for each document for users. Links lead to pages; pictures and links to other files become their text. */
export function guidePages(): readonly GuidePage[] {
  const files = [INDEX, ...globSync(["guide/*.md", "reference/*.md"], { cwd: DOCS })].map((file) =>
    file.replaceAll("\\", "/"),
  );
  const known = new Set(files);
  return files.map((file) => ({ path: pathOf(file), html: pageOf(file, known) }));
}

function pathOf(file: string): string {
  return `docs/${file === INDEX ? "index.html" : file.replace(/\.md$/, ".html")}`;
}

function pageOf(file: string, known: ReadonlySet<string>): string {
  const tokens: Token[] = new Marked().lexer(readFileSync(join(DOCS, file), "utf8"));
  const heading = tokens.find((token) => token.type === "heading");
  const title = file !== INDEX && heading?.type === "heading" ? withoutTags(heading.text) : "Guides";
  const root = posix.relative(posix.dirname(pathOf(file)), "docs") || ".";
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Sluice</title>
<link rel="icon" href="/sluice.svg" type="image/svg+xml">
<link rel="stylesheet" href="${root}/guides.css">
</head>
<body>
<nav aria-label="Guides"><a href="/">Dashboard</a><a href="${root}/index.html">All guides</a></nav>
<main>
${renderer(file, known).parser(tokens)}</main>
</body>
</html>
`;
}

function renderer(file: string, known: ReadonlySet<string>): Marked {
  const anchors = new Set<string>();
  return new Marked({
    renderer: {
      heading(text, level, raw) {
        const anchor = freeAnchor(githubAnchor(raw), anchors);
        return `<h${level} id="${anchor}">${text}</h${level}>\n`;
      },
      link(href, _title, text) {
        const target = targetOf(href, file, known);
        return target === undefined ? text : `<a href="${target}">${text}</a>`;
      },
      image: (_href, _title, text) => `<em>${text}</em>`,
      // Wide ones scroll in a box of their own.
      table: (head, body) =>
        `<div class="wide" tabindex="0"><table><thead>${head}</thead><tbody>${body}</tbody></table></div>\n`,
      code: (code, language) =>
        `<pre tabindex="0"><code class="${escaped(language ?? "")}">${escaped(code)}</code></pre>\n`,
      // Comments for people who edit the document.
      html: (text) => (text.startsWith("<!--") ? "" : escaped(text)),
    },
  });
}

/** Where a link of a document leads to on its page; undefined if it has no page. */
function targetOf(href: string, file: string, known: ReadonlySet<string>): string | undefined {
  if (/^(https?:|#)/.test(href)) return href;
  const [path = "", anchor] = href.split("#");
  const target = posix.normalize(posix.join(posix.dirname(file), path));
  if (!known.has(target)) return undefined;
  const page = posix.relative(posix.dirname(pathOf(file)), pathOf(target));
  return anchor === undefined ? page : `${page}#${anchor}`;
}

/** The anchor that GitHub gives a heading, so that links work in both places. */
function githubAnchor(heading: string): string {
  return withoutTags(heading)
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}

function freeAnchor(anchor: string, taken: Set<string>): string {
  let free = anchor;
  for (let number = 1; taken.has(free); number++) free = `${anchor}-${number}`;
  taken.add(free);
  return free;
}

function withoutTags(text: string): string {
  return text.replace(/<[^>]+>|`/g, "").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
