import type { IncomingHttpHeaders } from "node:http";
import { expect, test } from "vitest";
import {
  forwardedFor,
  hostsOf,
  isForwarded,
  originOf,
  type ProxyHeaders,
} from "../../src/http/connection/forwarded.js";

const HOST = "10.0.0.5:8787";

test.each<[name: string, headers: IncomingHttpHeaders, proxies: number, origin: string]>([
  ["no proxy", {}, 0, "http://10.0.0.5:8787"],
  [
    "headers of nobody",
    { "x-forwarded-proto": "https", "x-forwarded-host": "evil.example" },
    0,
    "http://10.0.0.5:8787",
  ],
  ["the scheme alone", { "x-forwarded-proto": "https" }, 1, "https://10.0.0.5:8787"],
  [
    "scheme and host",
    { "x-forwarded-proto": "https", "x-forwarded-host": "e.example" },
    1,
    "https://e.example",
  ],
  ["upper case", { "x-forwarded-proto": "HTTPS", "x-forwarded-host": "E.Example" }, 1, "https://e.example"],
  [
    "a port",
    { "x-forwarded-proto": "https", "x-forwarded-host": "e.example:8443" },
    1,
    "https://e.example:8443",
  ],
  [
    "the scheme's own port",
    { "x-forwarded-proto": "https", "x-forwarded-host": "e.example:443" },
    1,
    "https://e.example",
  ],
  ["IPv6", { "x-forwarded-host": "[2001:db8::1]:8080" }, 1, "http://[2001:db8::1]:8080"],
  [
    "a client's value before the proxy's",
    { "x-forwarded-host": "evil.example, e.example" },
    1,
    "http://e.example",
  ],
  ["two proxies", { "x-forwarded-host": "evil.example, e.example, lb.internal" }, 2, "http://e.example"],
  ["two proxies, the second replaces the header", { "x-forwarded-host": "e.example" }, 2, "http://e.example"],
  ["an empty value", { "x-forwarded-host": "", "x-forwarded-proto": "https" }, 1, "https://10.0.0.5:8787"],
  [
    "X-Forwarded-…, and a client's Forwarded",
    { forwarded: "host=evil.example;proto=ftp", "x-forwarded-proto": "https" },
    1,
    "https://10.0.0.5:8787",
  ],
  ["a client's Forwarded alone", { forwarded: "host=evil.example;proto=https" }, 1, "http://10.0.0.5:8787"],
])("the origin: %s", (_name, headers, proxies, origin) => {
  expect(originOf({ host: HOST, ...headers }, { count: proxies, headers: "x-forwarded" })).toBe(origin);
});

test.each<[name: string, headers: IncomingHttpHeaders, proxies: number, origin: string]>([
  ["all of it", { forwarded: "for=192.0.2.60;proto=https;host=e.example" }, 1, "https://e.example"],
  [
    "quoted",
    { forwarded: 'For="[2001:db8::17]:4711"; Host="e.example:8443";Proto=https' },
    1,
    "https://e.example:8443",
  ],
  [
    "a client's and a proxy's",
    { forwarded: "host=evil.example;proto=http, host=e.example;proto=https" },
    1,
    "https://e.example",
  ],
  ["two proxies", { forwarded: "host=evil.example, host=e.example, host=lb" }, 2, "http://e.example"],
  [
    "and a client's X-Forwarded-…",
    {
      forwarded: "host=e.example;proto=https",
      "x-forwarded-host": "evil.example",
      "x-forwarded-proto": "http",
    },
    1,
    "https://e.example",
  ],
  [
    "without a host, and a client's X-Forwarded-Host",
    { forwarded: "proto=https", "x-forwarded-host": "evil.example" },
    1,
    "https://10.0.0.5:8787",
  ],
  ["missing, and a client's X-Forwarded-Host", { "x-forwarded-host": "evil.example" }, 1, `http://${HOST}`],
  ["an empty value", { forwarded: 'host="";proto=https' }, 1, `https://${HOST}`],
  ["broken", { forwarded: 'host="e.example' }, 1, `http://${HOST}`],
  ["of nobody", { forwarded: "host=evil.example" }, 0, `http://${HOST}`],
])("the origin in Forwarded: %s", (_name, headers, proxies, origin) => {
  expect(originOf({ host: HOST, ...headers }, { count: proxies, headers: "forwarded" })).toBe(origin);
});

const X_FORWARDED = { count: 1, headers: "x-forwarded" } as const;
const FORWARDED = { count: 1, headers: "forwarded" } as const;

test.each<[name: string, headers: IncomingHttpHeaders, message: string, kind?: ProxyHeaders]>([
  ["no name at all", { host: undefined }, "SLUICE_PUBLIC_URL"],
  [
    "another scheme",
    { "x-forwarded-proto": "javascript" },
    'X-Forwarded-Proto must say http or https, got "javascript"',
  ],
  [
    "a path",
    { "x-forwarded-host": "e.example/evil" },
    'X-Forwarded-Host must say a host name, with or without a port, got "e.example/evil"',
  ],
  ["a user", { "x-forwarded-host": "e.example@evil.example" }, "X-Forwarded-Host must"],
  [
    "markup",
    { "x-forwarded-host": '"><script>' },
    'X-Forwarded-Host must say a host name, with or without a port, got "\\"><script>"',
  ],
  ["a port that does not exist", { "x-forwarded-host": "e.example:99999" }, "X-Forwarded-Host must"],
  ["no port after the colon", { "x-forwarded-host": "e.example:" }, "X-Forwarded-Host must"],
  ["blanks", { "x-forwarded-host": "e.example evil" }, "X-Forwarded-Host must"],
  ["a Host header that is none", { host: "a/b" }, "Host must"],
  ["a broken host in Forwarded", { forwarded: 'host="a b"' }, "Forwarded must", "forwarded"],
])("no origin: %s", (_name, headers, message, kind = "x-forwarded") => {
  expect(() => originOf({ host: HOST, ...headers }, { count: 1, headers: kind })).toThrow(message);
});

test("a refused value is cut", () => {
  expect(() => originOf({ host: HOST, "x-forwarded-host": "/".repeat(9_000) }, X_FORWARDED)).toThrow(
    /^.{0,200}$/,
  );
});

test.each<[forwarded: string, address: string | undefined]>([
  ["for=192.0.2.43", "192.0.2.43"],
  ["for=192.0.2.43:47011", "192.0.2.43"],
  ['for="[2001:db8:cafe::17]:4711"', "2001:db8:cafe::17"],
  ["for=6.6.6.6, for=192.0.2.43", "192.0.2.43"],
  ["for=unknown", undefined],
  ["for=_hidden", undefined],
  ["by=203.0.113.43", undefined],
  ["garbage", undefined],
  [",,,", undefined],
])("the address in Forwarded: %s", (forwarded, address) => {
  const headers = { forwarded, "x-forwarded-for": "6.6.6.6" };
  expect(forwardedFor(headers, FORWARDED)).toBe(address);
  expect(forwardedFor(headers, X_FORWARDED)).toBe("6.6.6.6");
});

test("every name counts for the Host check", () => {
  expect(hostsOf({ host: HOST, "x-forwarded-host": "e.example" }, X_FORWARDED)).toEqual([HOST, "e.example"]);
  expect(hostsOf({ host: HOST, "x-forwarded-host": "e.example" }, FORWARDED)).toEqual([HOST]);
  expect(hostsOf({ host: HOST, forwarded: "host=e.example" }, FORWARDED)).toEqual([HOST, "e.example"]);
  expect(hostsOf({ host: HOST, "x-forwarded-host": "e.example" }, { ...X_FORWARDED, count: 0 })).toEqual([
    HOST,
  ]);
  expect(hostsOf({}, X_FORWARDED)).toEqual([]);
});

test("a proxy's mark shows, whichever header it is", () => {
  for (const name of [
    "forwarded",
    "via",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
  ])
    expect([name, isForwarded({ [name]: "1" })]).toEqual([name, true]);
  expect(isForwarded({ host: HOST })).toBe(false);
});
