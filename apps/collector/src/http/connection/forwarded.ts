import type { IncomingHttpHeaders } from "node:http";
import { CollectorError } from "../../errors.js";

type Field = "for" | "proto" | "host";
type Hop = Readonly<Partial<Record<Field, string>>>;

/** Which kind of headers the trusted proxies write. */
export type ProxyHeaders = "x-forwarded" | "forwarded";

/** The proxies whose headers are believed. */
export interface TrustedProxies {
  readonly count: number;
  /** Headers of the other kind are ignored: a proxy that writes one kind passes on the other kind from clients. */
  readonly headers: ProxyHeaders;
}

/** What the outermost trusted proxy said about a request, and the header in which it did. */
interface Said {
  readonly value: string;
  readonly header: string;
}

/**
 * What the outermost trusted proxy said. Proxies append to these headers, so the last `count` entries are trusted. A proxy that
 * replaces the header leaves one entry, which is then taken.
 */
function said(headers: IncomingHttpHeaders, proxies: TrustedProxies, field: Field): Said | undefined {
  if (proxies.count === 0) return undefined;
  const header = proxies.headers === "forwarded" ? "Forwarded" : X_NAMES[field];
  const value =
    proxies.headers === "forwarded"
      ? entryOf(parseForwarded(headers.forwarded ?? ""), proxies.count)?.[field]
      : entryOf(String(headers[`x-forwarded-${field}`] ?? "").split(","), proxies.count)?.trim();
  return value === undefined || value === "" ? undefined : { value, header };
}

const X_HEADERS = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"] as const;
const X_NAMES = { for: "X-Forwarded-For", proto: "X-Forwarded-Proto", host: "X-Forwarded-Host" } as const;

function entryOf<T>(entries: readonly T[], proxies: number): T | undefined {
  return entries[Math.max(0, entries.length - proxies)];
}

/** The address that the outermost trusted proxy saw. */
export function forwardedFor(headers: IncomingHttpHeaders, proxies: TrustedProxies): string | undefined {
  const address = said(headers, proxies, "for");
  if (address === undefined || address.header !== "Forwarded") return address?.value;
  // RFC 7239: `192.0.2.43:47011`, `[2001:db8::17]:4711`; `unknown` and names that begin with `_` hide the address.
  const [, v6, v4] = /^(?:\[([0-9a-f:.]+)\]|([\d.]+))(?::\w+)?$/i.exec(address.value) ?? [];
  return v6 ?? v4;
}

/** The host names under which the client reached the collector: of the `Host` header, then of the outermost trusted proxy. */
export function hostsOf(headers: IncomingHttpHeaders, proxies: TrustedProxies): readonly string[] {
  return [headers.host, said(headers, proxies, "host")?.value].filter((host) => host !== undefined);
}

/** `https://events.example.com`, as the client reached the collector. Throws if the headers do not say a valid one. */
export function originOf(headers: IncomingHttpHeaders, proxies: TrustedProxies): string {
  const proto = said(headers, proxies, "proto");
  const scheme = proto?.value.toLowerCase() ?? "http";
  if (proto !== undefined && scheme !== "http" && scheme !== "https")
    throw refused(`${proto.header} must say http or https`, proto.value);
  const host =
    said(headers, proxies, "host") ??
    (headers.host === undefined ? undefined : { value: headers.host, header: "Host" });
  if (host === undefined)
    throw new CollectorError(
      "invalid_request",
      "the request has no Host header, and the setting publicUrl (SLUICE_PUBLIC_URL) is absent",
    );
  const origin = `${scheme}://${host.value}`;
  if (!HOST.test(host.value) || !URL.canParse(origin))
    throw refused(`${host.header} must say a host name, with or without a port`, host.value);
  return new URL(origin).origin;
}

/** Names, addresses, and addresses of IPv6 in brackets, with an optional port. */
const HOST = /^(?:\w(?:[\w.-]*\w)?\.?|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i;

function refused(rule: string, value: string): CollectorError {
  return new CollectorError("invalid_request", `${rule}, got ${JSON.stringify(value.slice(0, 100))}`);
}

/** Whether a proxy left its mark on the request. A client can add marks, but it cannot remove those of a proxy. */
export function isForwarded(headers: IncomingHttpHeaders): boolean {
  return MARKS.some((name) => headers[name] !== undefined);
}

const MARKS = [...X_HEADERS, "forwarded", "via", "x-real-ip"] as const;

/** One `name=value`, with the `;` or `,` after it. The value is a token or a quoted string. */
const PAIR = /\s*([!#$%&'*+.^_`|~\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s",;]*))\s*([;,]|$)/y;

/** The entries of a `Forwarded` header (RFC 7239), the client's first. Empty if it does not follow the grammar. */
function parseForwarded(header: string): readonly Hop[] {
  const hops: Record<string, string>[] = [{}];
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < header.length) {
    const match = PAIR.exec(header);
    if (match === null) return [];
    const [, name = "", quoted, token = "", end] = match;
    const hop = hops.at(-1) as Record<string, string>;
    hop[name.toLowerCase()] = quoted?.replace(/\\(.)/g, "$1") ?? token;
    if (end === ",") hops.push({});
  }
  return hops;
}
