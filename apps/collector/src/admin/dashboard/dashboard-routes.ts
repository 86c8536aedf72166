import { createHash } from "node:crypto";
import { extname } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Handler, HttpAnswer, HttpRequest, Route } from "../../http/routing.js";
import type { DashboardFiles } from "./dashboard-files.js";

/**
 * The first path segments of the dashboard's URLs. Each of them, and every path below it, serves the one HTML page. A test
 * compares them with the dashboard's own list.
 */
export const DASHBOARD_PAGES = [
  "live",
  "messages",
  "deliveries",
  "sources",
  "catalog",
  "cluster",
  "destinations",
  "transformations",
  "audiences",
  "computed-traits",
  "profiles",
  "deletions",
  "settings",
  "warnings",
] as const;

const CSP = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const SECURITY_HEADERS = {
  "content-security-policy": CSP,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
};

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".json": "application/json",
  ".txt": "text/plain; charset=utf-8",
};
const COMPRESSIBLE = new Set([".html", ".js", ".css", ".svg", ".json", ".txt"]);
const YEAR_SECONDS = 31_536_000;

/** Routes for the dashboard's files. */
export function dashboardRoutes(files: DashboardFiles): Route[] {
  const page = serveFile(files, "/index.html", "no-cache");
  return [
    { path: "/", methods: { GET: page } },
    ...DASHBOARD_PAGES.flatMap((name): Route[] => [
      { path: `/${name}`, methods: { GET: page } },
      { path: `/${name}/*`, methods: { GET: page } },
    ]),
    ...files.paths
      .filter((path) => path !== "/index.html")
      .map((path): Route => {
        // Names of built assets contain a hash of their content, so they can be cached forever.
        const isHashed = path.startsWith("/assets/");
        const caching = isHashed ? `public, max-age=${YEAR_SECONDS}, immutable` : "no-cache";
        return { path, methods: { GET: serveFile(files, path, caching) } };
      }),
    // The page says that there is nothing at this address. Listed last, because the first pattern wins.
    {
      path: "/*",
      isNotFoundPage: true,
      methods: { GET: serveFile(files, "/index.html", "no-cache", 404) },
    },
  ];
}

interface LoadedFile {
  readonly etag: string;
  readonly plain: Uint8Array;
  readonly br?: Uint8Array;
  readonly gzip?: Uint8Array;
}

/** Reads and compresses the file on first use, then keeps it in memory: all files together are less than a megabyte. */
function serveFile(files: DashboardFiles, path: string, caching: string, status: 200 | 404 = 200): Handler {
  let loading: Promise<LoadedFile> | undefined;
  return async (request) => {
    loading ??= load(files, path).catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return answerWith(await loading, request, { path, caching, status });
  };
}

async function load(files: DashboardFiles, path: string): Promise<LoadedFile> {
  const plain = await files.read(path);
  const etag = `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
  if (!COMPRESSIBLE.has(extname(path))) return { etag, plain };
  const [br, gzipped] = await Promise.all([
    promisify(brotliCompress)(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
    promisify(gzip)(plain),
  ]);
  return { etag, plain, br, gzip: gzipped };
}

function answerWith(
  file: LoadedFile,
  request: HttpRequest,
  { path, caching, status }: { readonly path: string; readonly caching: string; readonly status: 200 | 404 },
): HttpAnswer {
  const headers = { etag: file.etag, "cache-control": caching, vary: "accept-encoding", ...SECURITY_HEADERS };
  if (status === 200 && request.headers["if-none-match"] === file.etag) return { status: 304, headers };
  const accepted = String(request.headers["accept-encoding"] ?? "");
  const encoding =
    file.br && /\bbr\b/.test(accepted) ? "br" : file.gzip && /\bgzip\b/.test(accepted) ? "gzip" : undefined;
  return {
    status,
    headers: {
      ...headers,
      "content-type": TYPES[extname(path)] ?? "application/octet-stream",
      ...(encoding === undefined ? {} : { "content-encoding": encoding }),
    },
    body: (encoding === undefined ? undefined : file[encoding]) ?? file.plain,
  };
}
