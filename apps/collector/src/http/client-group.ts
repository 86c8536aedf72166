import { isIPv6 } from "node:net";

/** A client behind a proxy that writes nonsense is one client. */
const LONGEST = 64;

/**
 * What counts as one client: an IPv4 address, or the /64 block of an IPv6 address, which is the least that one subscriber has. Takes
 * what proxies write into `X-Forwarded-For` too: a port behind the address, brackets.
 */
export function clientGroup(address: string): string {
  const bare =
    /^\[([^\]]*)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1");
  if (!isIPv6(bare)) return bare.slice(0, LONGEST);
  const [withoutZone = ""] = bare.split("%");
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(withoutZone)?.[1];
  if (mapped !== undefined) return mapped;
  const [front = "", back] = withoutZone.split("::");
  const first = front === "" ? [] : front.split(":");
  // `::` stands for as many zeros as are missing; an IPv4 address at the end takes the room of two.
  const last = back === undefined || back === "" ? [] : back.split(":");
  const lastLength = last.length + (last.at(-1)?.includes(".") ? 1 : 0);
  const zeros = back === undefined ? 0 : 8 - first.length - lastLength;
  const hextets = [...first, ...Array.from({ length: zeros }, () => "0"), ...last];
  return `${hextets
    .slice(0, 4)
    .map((hextet) => Number.parseInt(hextet, 16).toString(16))
    .join(":")}::/64`;
}
