// How the values of settings are read: from text of the environment, or from JSON values of a file. Undefined: not valid.

export function text(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

export function integer(min: number, max = Number.MAX_SAFE_INTEGER): (value: unknown) => number | undefined {
  return (value) => {
    const number =
      typeof value === "string" && /^\d+$/.test(value.trim()) ? Number(value) : (value as number | undefined);
    return Number.isSafeInteger(number) && (number as number) >= min && (number as number) <= max
      ? (number as number)
      : undefined;
  };
}

export function orWord<const T extends string>(
  words: readonly T[],
  parse: (value: unknown) => number | undefined,
): (value: unknown) => number | T | undefined {
  return (value) => words.find((word) => word === value) ?? parse(value);
}

export function oneOf<const T extends string>(values: readonly T[]): (value: unknown) => T | undefined {
  return (value) => values.find((known) => known === value);
}

export function list(value: unknown): readonly string[] | undefined {
  const items = typeof value === "string" ? value.split(",") : value;
  if (!Array.isArray(items) || items.some((item) => typeof item !== "string")) return undefined;
  return items.map((item: string) => item.trim()).filter((item) => item !== "");
}

export function httpUrl(value: unknown): string | undefined {
  if (typeof value !== "string" || !URL.canParse(value)) return undefined;
  const { protocol } = new URL(value);
  return protocol === "http:" || protocol === "https:" ? value.replace(/\/+$/, "") : undefined;
}

/** A URL to which paths can be added. */
export function baseUrl(value: unknown): string | undefined {
  const text = httpUrl(value);
  if (text === undefined) return undefined;
  const { search, hash, username, password } = new URL(text);
  return search + hash + username + password === "" && !/[?#]/.test(text) ? text : undefined;
}

export function listenAddress(value: unknown): { readonly host: string; readonly port: number } | undefined {
  if (typeof value !== "string") return undefined;
  const [, v6, name, digits] = /^(?:\[([0-9a-f:.%\w]+)\]|([\w.-]+)):(\d{1,5})$/i.exec(value.trim()) ?? [];
  const host = v6 ?? name;
  const port = integer(0, 65_535)(digits);
  return host === undefined || port === undefined ? undefined : { host, port };
}

export function flag(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  return value === "true" ? true : value === "false" ? false : undefined;
}

/** A list whose items all are what `parse` takes. */
export function listOf<T>(
  parse: (item: string) => T | undefined,
): (value: unknown) => readonly T[] | undefined {
  return (value) => {
    const items = list(value)?.map(parse);
    return items?.includes(undefined) ? undefined : (items as readonly T[] | undefined);
  };
}
