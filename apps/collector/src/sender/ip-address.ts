import { isIP } from "node:net";

/** The 4 or 16 bytes of an address. */
export type AddressBytes = readonly number[];

/**
 * Parses an address as the operating system writes it, without a zone id; undefined for anything else. An IPv4 address embedded in an
 * IPv6 address (`::ffff:127.0.0.1`) stays an IPv6 address: see `embeddedIpv4`.
 */
export function addressBytes(address: string): AddressBytes | undefined {
  const text = address.replace(/%.*$/, "");
  switch (isIP(text)) {
    case 4:
      return text.split(".").map(Number);
    case 6:
      return ipv6Bytes(text);
    default:
      return undefined;
  }
}

function ipv6Bytes(text: string): number[] {
  // Rewrite a dotted IPv4 end as two groups.
  const groupsOnly = text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_all, a, b, c, d) => {
    const group = (high: string, low: string): string => (Number(high) * 256 + Number(low)).toString(16);
    return `${group(a, b)}:${group(c, d)}`;
  });
  const [head = "", tail] = groupsOnly.split("::");
  const groups = (part: string): number[] =>
    part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16));
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  const zeros = new Array<number>(8 - before.length - after.length).fill(0);
  return [...before, ...zeros, ...after].flatMap((group) => [group >> 8, group & 0xff]);
}

/** A block of addresses. */
export interface Cidr {
  readonly bytes: AddressBytes;
  readonly prefixBits: number;
}

/** Parses `10.0.0.0/8`, `fd00::/8`, or a single address; undefined for anything else. */
export function parseCidr(text: string): Cidr | undefined {
  const [address = "", prefix, ...rest] = text.split("/");
  const bytes = addressBytes(address);
  if (bytes === undefined || rest.length > 0) return undefined;
  const longest = bytes.length * 8;
  if (prefix === undefined) return { bytes, prefixBits: longest };
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > longest) return undefined;
  return { bytes, prefixBits: Number(prefix) };
}

export function isInside(address: AddressBytes, { bytes, prefixBits }: Cidr): boolean {
  if (address.length !== bytes.length) return false;
  for (let index = 0, left = prefixBits; left > 0; index++, left -= 8) {
    const mask = left >= 8 ? 0xff : (0xff << (8 - left)) & 0xff;
    if (((address[index] ?? 0) & mask) !== ((bytes[index] ?? 0) & mask)) return false;
  }
  return true;
}

/** Blocks of IPv6 addresses that embed an IPv4 address, and the byte at which it starts. */
const EMBEDDINGS: readonly { readonly cidr: Cidr; readonly at: number }[] = [
  ["::ffff:0:0/96", 12], // IPv4-mapped
  ["::ffff:0:0:0/96", 12], // IPv4-translated (RFC 2765)
  ["::/96", 12], // IPv4-compatible
  ["64:ff9b::/96", 12], // NAT64 (RFC 6052)
  ["2002::/16", 2], // 6to4 (RFC 3056)
].map(([cidr, at]) => ({ cidr: knownCidr(cidr as string), at: at as number }));

/** The IPv4 address to which packets for this IPv6 address go; undefined if it embeds none. */
export function embeddedIpv4(address: AddressBytes): AddressBytes | undefined {
  if (address.length !== 16) return undefined;
  const embedding = EMBEDDINGS.find(({ cidr }) => isInside(address, cidr));
  return embedding === undefined ? undefined : address.slice(embedding.at, embedding.at + 4);
}

const LOCAL_NAT64 = knownCidr("64:ff9b:1::/48");
const TEREDO = knownCidr("2001::/32");
/** Bytes 8 to 11 of an ISATAP address (RFC 5214), except for the bit that says whether it is unique. */
const ISATAP = [0, 0, 0x5e, 0xfe] as const;

/**
 * The IPv4 addresses to which packets for this IPv6 address may go if the network has its own translator or tunnel: local NAT64
 * (RFC 8215, in each layout of RFC 6052), Teredo (RFC 4380) and ISATAP. The address need not be used that way.
 */
export function tunnelledIpv4s(address: AddressBytes): readonly AddressBytes[] {
  if (address.length !== 16) return [];
  const at = (...places: readonly number[]): AddressBytes => places.map((place) => address[place] ?? 0);
  if (isInside(address, LOCAL_NAT64))
    return [at(12, 13, 14, 15), at(6, 7, 9, 10), at(7, 9, 10, 11), at(9, 10, 11, 12)];
  if (isInside(address, TEREDO)) return [at(4, 5, 6, 7), at(12, 13, 14, 15).map((byte) => byte ^ 0xff)];
  const isIsatap = ISATAP.every(
    (byte, index) => byte === ((address[8 + index] ?? 0) & (index === 0 ? ~2 : ~0)),
  );
  return isIsatap ? [at(12, 13, 14, 15)] : [];
}

/** Parses a block that is written in the code; throws if it is wrong. */
export function knownCidr(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw new TypeError(`Not a block of addresses: ${text}`);
  return cidr;
}
