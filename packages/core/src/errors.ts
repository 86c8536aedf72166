/** An option has an invalid value. Only the constructor throws: no other call of the SDK does. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  /** The name of the option, as the caller wrote it, or of the environment variable. */
  readonly option: string;
  /** The rule that the value breaks. */
  readonly rule: string;
  /** The value that was given. */
  readonly value: unknown;

  constructor(option: string, rule: string, value: unknown) {
    const kind = VARIABLE.test(option) ? "Environment variable" : "Option";
    super(`${kind} \`${option}\` ${rule}, got ${shown(value)}`);
    this.option = option;
    this.rule = rule;
    this.value = value;
  }
}

const VARIABLE = /^[A-Z][A-Z_]*$/;

function shown(value: unknown): string {
  try {
    return described(value);
  } catch {
    // A proxy may throw at everything that is asked of it.
    return "an unreadable value";
  }
}

function described(value: unknown): string {
  if (typeof value === "string")
    return JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value);
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "an array" : "an object";
  if (typeof value === "function") return "a function";
  return String(value);
}

/** Calls the application's code and swallows what it throws or rejects with. Returns undefined if it throws. */
export function contained<Args extends readonly unknown[]>(
  call: ((...args: Args) => unknown) | undefined,
  ...args: Args
): unknown {
  if (!call) return undefined;
  try {
    const result = call(...args);
    if (isThenable(result)) result.then(undefined, () => {});
    return result;
  } catch {
    return undefined;
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}

/** Describes an error on one line, with the cause that `fetch` hides behind "fetch failed". */
export function reasonOf(error: unknown): string {
  try {
    if (!(error instanceof Error)) return String(error);
    const cause: unknown = error.cause;
    const text = String(error.message || error.name);
    const code = "code" in error && typeof error.code === "string" ? error.code : undefined;
    const named = code === undefined || text.includes(code) ? text : `${code}: ${text}`;
    return cause instanceof Error ? `${named}: ${reasonOf(cause)}` : named;
  } catch {
    // A thrown value may itself throw when it is converted to a string.
    return "an unprintable error";
  }
}
