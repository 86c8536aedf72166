import { createHash } from "node:crypto";
import { LOCAL_COLLECTOR_URL } from "@sluice/protocol";
import type { Handler, HttpAnswer, Route } from "../../http/routing.js";

import type { OpenApiDocument, Operation } from "./openapi.js";

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for HTML, also within the quotes of an attribute. */
function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#d9dde3, #353b45); --soft: light-dark(#f4f6f8, #1b1f26);
  --text: light-dark(#14181f, #e8ebf0); --dim: light-dark(#586070, #a3adbc); --accent: light-dark(#0b57d0, #8ab4f8) }
* { box-sizing: border-box }
body { margin: 0; font: 15px/1.55 system-ui, sans-serif; color: var(--text); background: light-dark(#fff, #12151a) }
main { max-width: 62rem; margin: 0 auto; padding: 2rem 1rem 6rem }
h1 { font-size: 1.7rem; margin: 0 0 .25rem } h2 { margin: 2.5rem 0 .75rem; font-size: 1.15rem; text-transform: capitalize }
p { margin: .4rem 0 } a { color: var(--accent) } code, pre { font: 13px/1.5 ui-monospace, monospace }
nav { display: flex; flex-wrap: wrap; gap: .5rem 1rem; margin: 1rem 0 }
details { border: 1px solid var(--line); border-radius: 8px; margin: .5rem 0; overflow: hidden }
summary { padding: .6rem .8rem; cursor: pointer; display: flex; gap: .75rem; align-items: baseline; flex-wrap: wrap }
summary:hover { background: var(--soft) } summary:focus-visible { outline: 2px solid var(--accent); outline-offset: -2px }
summary span { color: var(--dim) } .method { font-weight: 700; min-width: 4.2rem }
.inside { padding: .25rem .9rem .9rem; border-top: 1px solid var(--line) } h3 { font-size: .85rem; margin: .9rem 0 .3rem; color: var(--dim) }
pre { background: var(--soft); border-radius: 6px; padding: .7rem; overflow-x: auto; margin: .3rem 0 }
table { border-collapse: collapse; width: 100% } td, th { text-align: left; padding: .25rem .5rem .25rem 0; vertical-align: top }
`;

const CSP = [
  "default-src 'none'",
  `style-src 'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

/**
 * The OpenAPI document and an HTML page of it, which needs no script, no other host and no token. Both are made when somebody asks for
 * them: few do, and the document takes a quarter of a start.
 */
export function docsRoutes(makeDocument: () => OpenApiDocument): Route[] {
  let made: OpenApiDocument | undefined;
  let page: string | undefined;
  const document = (): OpenApiDocument => {
    made ??= makeDocument();
    return made;
  };
  const json = (): HttpAnswer => ({ status: 200, body: document() });
  const html: Handler = ({ origin }) => {
    page ??= renderDocs(document());
    return {
      status: 200,
      headers: {
        "content-type": "text/html; charset=utf-8",
        "content-security-policy": CSP,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
      },
      body: page.replaceAll(EXAMPLE_ORIGIN, escapeHtml(origin)),
    };
  };
  return [
    { path: "/api/v1/openapi.json", methods: { GET: json } },
    { path: "/api/v1/docs", methods: { GET: html } },
  ];
}

/** Replaced by the origin under which the page was requested. */
const EXAMPLE_ORIGIN = LOCAL_COLLECTOR_URL;

export function renderDocs(document: OpenApiDocument): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const sections = document.tags.map(({ name }) => {
    const ofTag = operations.filter(({ operation }) => operation.tags.includes(name));
    return `<h2 id="${escapeHtml(name)}">${escapeHtml(name)}</h2>${ofTag
      .map(({ method, path, operation }) => renderOperation(method, path, operation))
      .join("")}`;
  });
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeHtml(document.info.title)}</title><style>${STYLE}</style></head><body><main><h1>${escapeHtml(document.info.title)}</h1><p>${inlineCode(document.info.description)}</p><p>Every call needs <code>Authorization: Bearer TOKEN</code>. The machine-readable form: <a href="/api/v1/openapi.json">openapi.json</a>.</p><nav aria-label="Resources">${document.tags
    .map(({ name }) => `<a href="#${escapeHtml(name)}">${escapeHtml(name)}</a>`)
    .join("")}</nav>${sections.join("")}</main></body></html>`;
}

function renderOperation(method: string, path: string, operation: Operation): string {
  const { parameters, requestBody, responses } = operation;
  const parts = [
    `<pre>${escapeHtml(curlLine(method, path, requestBody !== undefined))}</pre>`,
    parameters.length === 0
      ? ""
      : `<h3>Parameters</h3><table>${parameters
          .map(
            (parameter) =>
              `<tr><td><code>${escapeHtml(parameter.name)}</code></td><td>${parameter.in}${parameter.required ? ", required" : ""}</td><td>${inlineCode(parameter.description ?? "")}</td></tr>`,
          )
          .join("")}</table>`,
    requestBody === undefined
      ? ""
      : `<h3>Body</h3>${schemaBlock(requestBody.content["application/json"].schema)}`,
    `<h3>Answers</h3><table>${Object.entries(responses)
      .map(
        ([status, { description }]) =>
          `<tr><td><code>${status}</code></td><td>${inlineCode(description)}</td></tr>`,
      )
      .join("")}</table>`,
    ...Object.values(responses).flatMap(({ content }) =>
      Object.values(content ?? {}).flatMap(({ schema }: { schema: object }) =>
        "$ref" in schema ? [] : [schemaBlock(schema)],
      ),
    ),
  ];
  return `<details id="${escapeHtml(operation.operationId)}"><summary><code class="method">${method}</code><code>/api/v1${escapeHtml(path)}</code><span>${escapeHtml(operation.summary)}</span></summary><div class="inside">${parts.join("")}</div></details>`;
}

function curlLine(method: string, path: string, hasBody: boolean): string {
  const verb = method === "GET" ? "" : ` -X ${method}`;
  const body = hasBody ? " -H 'Content-Type: application/json' -d '{…}'" : "";
  return `curl${verb} ${EXAMPLE_ORIGIN}/api/v1${path} -H "Authorization: Bearer $SLUICE_TOKEN"${body}`;
}

function schemaBlock(schema: object): string {
  return `<pre>${escapeHtml(JSON.stringify(schema, null, 2))}</pre>`;
}

/** HTML in which text in `backticks` is code. */
function inlineCode(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}
