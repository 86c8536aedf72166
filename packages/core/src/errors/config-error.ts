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
