/** In these objects, numbers, true, false and null are converted. Other values, such as ids and names, stay text. */
const TYPED_ROOTS = new Set(["properties", "traits", "context", "integrations"]);
const UNSAFE_KEYS = new Set(["__proto__", "constructor", "prototype"]);

/** Turns a row into a message. A column `properties.plan` becomes a field of `properties`; empty fields are left out. */
export function csvMessage(
  header: readonly string[],
  fields: readonly string[],
): { [field: string]: unknown } {
  const message: { [field: string]: unknown } = {};
  header.forEach((column, index) => {
    const text = fields[index] ?? "";
    const path = column.trim().split(".");
    if (text === "" || path.some((key) => key === "" || UNSAFE_KEYS.has(key))) return;
    const value = path.length > 1 && TYPED_ROOTS.has(path[0] ?? "") ? convert(text) : text;
    put(message, path, value);
  });
  return message;
}

function put(target: { [field: string]: unknown }, path: readonly string[], value: unknown): void {
  const [key, ...rest] = path;
  if (key === undefined) return;
  if (rest.length === 0) {
    target[key] = value;
    return;
  }
  const inner = target[key];
  if (typeof inner === "object" && inner !== null) put(inner as { [field: string]: unknown }, rest, value);
  else {
    const created: { [field: string]: unknown } = {};
    target[key] = created;
    put(created, rest, value);
  }
}

/** A text is a number only if the number has the same text: `007` and `1e3` stay text. */
function convert(text: string): unknown {
  if (text === "true") return true;
  if (text === "false") return false;
  if (text === "null") return null;
  const number = Number(text);
  return text.trim() !== "" && Number.isFinite(number) && String(number) === text ? number : text;
}
