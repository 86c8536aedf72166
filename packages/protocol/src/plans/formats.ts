const OCTET = "(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)";
const IPV4 = new RegExp(`^${OCTET}(?:\\.${OCTET}){3}$`);
const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[zZ]|[+-][0-2]\d:[0-5]\d)$/;

/** Formats by name. Each test takes time linear in the length of the text. */
const FORMATS = {
  date: (text: string) => DATE.test(text),
  time: (text: string) => TIME.test(text),
  "date-time": (text: string) =>
    DATE.test(text.slice(0, 10)) && /[tT ]/.test(text[10] ?? "") && TIME.test(text.slice(11)),
  email: (text: string) => /^[^\s@]+@[^\s@]+$/.test(text),
  hostname: (text: string) => text.length <= 253 && text.split(".").every(isLabel),
  ipv4: (text: string) => IPV4.test(text),
  ipv6: isIpv6,
  uri: (text: string) => /^[a-zA-Z][a-zA-Z\d+.-]*:\S+$/.test(text),
  uuid: (text: string) => /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i.test(text),
} as const satisfies Record<string, (text: string) => boolean>;

export type Format = keyof typeof FORMATS;
export const FORMAT_NAMES = Object.keys(FORMATS) as readonly Format[];

export function isFormat(name: unknown): name is Format {
  return typeof name === "string" && Object.hasOwn(FORMATS, name);
}

export function hasFormat(text: string, format: Format): boolean {
  return FORMATS[format](text);
}

function isLabel(label: string): boolean {
  return /^[a-zA-Z\d-]{1,63}$/.test(label) && !label.startsWith("-") && !label.endsWith("-");
}

function isIpv6(text: string): boolean {
  if (text.length > 45) return false;
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1) ?? "";
  const hasIpv4 = last.includes(".");
  const plain = hasIpv4 ? groups.slice(0, -1) : groups;
  if (hasIpv4 && !IPV4.test(last)) return false;
  const count = plain.length + (hasIpv4 ? 2 : 0);
  return (
    plain.every((group) => /^[\da-fA-F]{1,4}$/.test(group)) && (halves.length === 2 ? count < 8 : count === 8)
  );
}
