import { isIPv6 } from "node:net";

/** A proxy may write anything: longer texts are cut off. */
const LONGEST = 64;

/**
 * Groups addresses into clients: an IPv4 address, or the /64 block of an IPv6 address, which is the least that a subscriber has. Also
 * understands the forms that proxies write into `X-Forwarded-For`, with a port or brackets.
 */
export function clientGroup(address: string): string {
  // Ordinary IPv4 addresses are most requests', and need none of the patterns below.
  if (!address.includes(":") && !address.includes("[")) return address.slice(0, LONGEST);
  const bare =
    /^\[([^\]]*)\](?::\d+)?$/.exec(address)?.[1] ?? address.replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, "$1");
  if (!isIPv6(bare)) return bare.slice(0, LONGEST);
  const [withoutZone = ""] = bare.split("%");
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(withoutZone)?.[1];
  if (mapped !== undefined) return mapped;
  const [front = "", back] = withoutZone.split("::");
  const first = front === "" ? [] : front.split(":");
  // `::` stands for the missing zeros. An IPv4 address at the end counts as two groups.
  const last = back === undefined || back === "" ? [] : back.split(":");
  const lastLength = last.length + (last.at(-1)?.includes(".") ? 1 : 0);
  const zeros = back === undefined ? 0 : 8 - first.length - lastLength;
  const hextets = [...first, ...Array.from({ length: zeros }, () => "0"), ...last];
  return `${hextets
    .slice(0, 4)
    .map((hextet) => Number.parseInt(hextet, 16).toString(16))
    .join(":")}::/64`;
}
