import {
  type AddressBytes,
  addressBytes,
  type Cidr,
  embeddedIpv4,
  isInside,
  knownCidr,
  parseCidr,
  tunnelledIpv4s,
} from "./ip-address.js";

/** Whether a connection may be opened. The message names the address and the reason, and says what to do. */
export type Verdict = { readonly allowed: true } | { readonly allowed: false; readonly message: string };

/** Decides where requests may go, by the address of the connection and never by the text of a URL. */
export interface EgressPolicy {
  /** `host`: the name that the address was looked up for, or the address itself for a literal. */
  judge(address: string, host: string): Verdict;
}

export interface EgressOptions {
  /**
   * Targets that are allowed besides public addresses: addresses, blocks (`10.1.0.0/16`) and host names (`hooks.internal`,
   * `*.internal`). Default: none.
   */
  readonly allow?: readonly string[];
}

/** The blocks that `sluice dev` allows. */
export const LOOPBACK_BLOCKS: readonly string[] = ["127.0.0.0/8", "::1/128"];

type Block = readonly [cidr: Cidr, what: string];
const block = ([cidr, what]: readonly [string, string]): Block => [knownCidr(cidr), `${what} (${cidr})`];

/** These cannot be allowed: they serve the machine's credentials, or belong to no host. */
const NEVER: readonly Block[] = (
  [
    ["169.254.0.0/16", "a link-local address, where cloud metadata is served"],
    ["fe80::/10", "a link-local address"],
    // Amazon, Google, Oracle and Scaleway over IPv6; then Azure, Alibaba and Oracle over IPv4.
    ["fd00:ec2::/32", "a cloud metadata address"],
    ["fd20:ce::254/128", "a cloud metadata address"],
    ["fd00:c1::a9fe:a9fe/128", "a cloud metadata address"],
    ["fd00:42::42/128", "a cloud metadata address"],
    ["168.63.129.16/32", "a cloud metadata address"],
    ["100.100.100.200/32", "a cloud metadata address"],
    ["192.0.0.192/32", "a cloud metadata address"],
    ["224.0.0.0/4", "a multicast address"],
    ["ff00::/8", "a multicast address"],
    ["255.255.255.255/32", "the broadcast address"],
  ] as const
).map(block);

/** Not public: IANA's special-purpose registries, RFC 6890 and its successors. */
const NOT_PUBLIC: readonly Block[] = (
  [
    ["::/128", "an address of this machine"],
    ["::1/128", "a loopback address"],
    ["0.0.0.0/8", "an address of this machine"],
    ["10.0.0.0/8", "a private address"],
    ["100.64.0.0/10", "a carrier's shared address"],
    ["127.0.0.0/8", "a loopback address"],
    ["172.16.0.0/12", "a private address"],
    ["192.0.0.0/24", "a protocol assignment"],
    ["192.0.2.0/24", "a documentation address"],
    ["192.88.99.0/24", "a 6to4 relay"],
    ["192.168.0.0/16", "a private address"],
    ["198.18.0.0/15", "a benchmarking address"],
    ["198.51.100.0/24", "a documentation address"],
    ["203.0.113.0/24", "a documentation address"],
    ["240.0.0.0/4", "a reserved address"],
    ["64:ff9b:1::/48", "a local NAT64 address"],
    ["2001::/23", "a protocol assignment"],
    ["2001:db8::/32", "a documentation address"],
    ["3fff::/20", "a documentation address"],
    ["fc00::/7", "a private address"],
  ] as const
).map(block);

/** The IPv6 addresses that hosts have. The rest is reserved. */
const GLOBAL_UNICAST_IPV6 = knownCidr("2000::/3");

export function egressPolicy(options: EgressOptions = {}): EgressPolicy {
  const blocks: Cidr[] = [];
  const hosts = new Set<string>();
  for (const entry of options.allow ?? []) {
    const cidr = parseCidr(entry);
    if (cidr !== undefined) blocks.push(cidr);
    else if (/^(\*\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(entry)) hosts.add(plainName(entry));
    else
      throw new RangeError(`Setting \`allowTargets\` takes addresses, blocks and host names, got ${entry}`);
  }

  const nameAllowed = (host: string): boolean => {
    const name = plainName(host);
    if (hosts.has(name)) return true;
    for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
      if (hosts.has(`*${name.slice(dot)}`)) return true;
    }
    return false;
  };

  return {
    judge(address, host) {
      const bytes = addressBytes(address);
      if (bytes === undefined) return refused(address, host, "not an address");
      // Both must be allowed: the address itself, and the IPv4 address that it embeds.
      const forms = [bytes, embeddedIpv4(bytes)].filter((form) => form !== undefined);
      // Allowing the block of a tunnel or translator does not allow forbidden addresses behind it.
      const never = inside(NEVER, [...forms, ...tunnelledIpv4s(bytes)]);
      if (never !== undefined) return refused(address, host, never);
      if (nameAllowed(host) || blocks.some((cidr) => forms.some((form) => isInside(form, cidr)))) {
        return { allowed: true };
      }
      const what =
        inside(NOT_PUBLIC, forms) ??
        (forms.length === 1 && bytes.length === 16 && !isInside(bytes, GLOBAL_UNICAST_IPV6)
          ? "a reserved address"
          : undefined);
      return what === undefined ? { allowed: true } : refused(address, host, what);
    },
  };
}

/** The reason of the first block that contains one of the forms of an address. */
function inside(list: readonly Block[], forms: readonly AddressBytes[]): string | undefined {
  return list.find(([cidr]) => forms.some((form) => isInside(form, cidr)))?.[1];
}

function refused(address: string, host: string, what: string): Verdict {
  const named = plainName(host) === plainName(address) ? address : `${host} is ${address}, which`;
  return {
    allowed: false,
    message: `${named} is ${what}. Only public addresses are allowed, and those in the collector's setting allowTargets`,
  };
}

/** In lower case, without trailing dot and brackets. */
function plainName(host: string): string {
  return host
    .toLowerCase()
    .replace(/\.$/, "")
    .replace(/^\[|\]$/g, "");
}
