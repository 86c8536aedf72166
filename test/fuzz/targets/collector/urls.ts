import { BlockList, isIP } from "node:net";
import { expect } from "vitest";
import { egressPolicy, LOOPBACK_BLOCKS } from "../../../../apps/collector/src/sender/egress-policy.js";
import { addressBytes, parseCidr } from "../../../../apps/collector/src/sender/ip-address.js";
import { textTarget } from "../../engine/target.js";

/** A second implementation: Node's block list, with the special-purpose blocks of IANA. */
const special = new BlockList();
for (const block of [
  ...[
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
  ],
  ...[
    "192.0.2.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
  ],
  ...["168.63.129.16/32", "100.100.100.200/32"],
  ...[
    "::/128",
    "::1/128",
    "64:ff9b:1::/48",
    "2001:db8::/32",
    "fc00::/7",
    "fe80::/10",
    "ff00::/8",
    "fec0::/10",
    "100::/64",
  ],
]) {
  const [address = "", bits] = block.split("/");
  special.addSubnet(address, Number(bits), isIP(address) === 6 ? "ipv6" : "ipv4");
}

function isSpecial(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return special.check(address, "ipv4");
  return special.check(address, "ipv6");
}

const open = egressPolicy();
const loopback = egressPolicy({ allow: LOOPBACK_BLOCKS });
const named = egressPolicy({ allow: ["hooks.internal", "*.internal", "10.1.0.0/16"] });

export const urls = textTarget({
  name: "urls",
  rule: "no spelling of a host reaches an address that is not public, and nothing allows link-local and metadata addresses",
  runs: 2_000,
  alphabet: "text",
  dictionary: [
    ...[
      "127.0.0.1",
      "0x7f.1",
      "2130706433",
      "017700000001",
      "[::1]",
      "[::ffff:",
      "169.254.169.254",
      "a9fe:a9fe",
      "%25eth0",
      "%eth0",
    ],
    ...[
      "①②⑦",
      "。",
      "．",
      "localhost",
      ".internal",
      "xn--",
      "[64:ff9b::",
      "[2002:",
      "[::ffff:0:",
      "/8",
      "user@",
      "\\",
      "fe80::",
      "[fd00:ec2::254]",
    ],
  ],
  maxLength: 100,
  check(text) {
    checkAddress(text);
    const cidr = parseCidr(text);
    if (cidr !== undefined) expect(cidr.prefixBits).toBeLessThanOrEqual(cidr.bytes.length * 8);
    for (const address of [`http://${text}/`, text]) {
      const url = parsedUrl(address);
      if (url !== undefined) checkAddress(url.hostname.replace(/^\[|\]$/g, ""));
    }
    named.judge("10.1.2.3", text);
    expect(named.judge("169.254.169.254", text).allowed).toBe(false);
    expect(named.judge("::ffff:169.254.169.254", text).allowed).toBe(false);
  },
});

function checkAddress(address: string): void {
  const bytes = addressBytes(address);
  const bare = address.replace(/%.*$/, "");
  expect(bytes !== undefined).toBe(isIP(bare) !== 0);
  const verdict = open.judge(address, address);
  if (bytes === undefined) {
    expect(verdict.allowed).toBe(false);
    return;
  }
  expect(bytes).toHaveLength(isIP(bare) === 4 ? 4 : 16);
  for (const byte of bytes) expect(byte >= 0 && byte <= 255 && Number.isInteger(byte)).toBe(true);
  if (isSpecial(bare)) expect(verdict.allowed, address).toBe(false);
  const mapped = mappedIpv4(bare);
  if (mapped !== undefined && isSpecial(mapped)) expect(verdict.allowed, address).toBe(false);
  // Allowing loopback opens nothing else.
  if (loopback.judge(address, address).allowed && !verdict.allowed)
    expect(bytes.length === 4 ? bytes[0] === 127 : isLoopbackV6(bytes)).toBe(true);
}

function isLoopbackV6(bytes: readonly number[]): boolean {
  return bytes.slice(0, 15).every((byte) => byte === 0) || bytes.includes(127);
}

/** The URL parser writes every spelling of the same address in one way. */
function mappedIpv4(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined;
  const url = parsedUrl(`http://[${address}]/`);
  const [, high, low] = /^\[::ffff:([\da-f]{1,4}):([\da-f]{1,4})\]$/.exec(url?.hostname ?? "") ?? [];
  if (high === undefined || low === undefined) return undefined;
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return [a >> 8, a & 255, b >> 8, b & 255].join(".");
}

function parsedUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined;
}
