/** Runs inside of the VM, as those of `seal.ts`. */

export interface ResultLimits {
  readonly messages: number;
  readonly chars: number;
}

interface ReadError {
  readonly name: string | undefined;
  readonly message: string | undefined;
  readonly stack: string;
  /** Of the engine itself, as far as the code does not imitate it. */
  readonly isEngines: boolean;
}

/** Reads an exception with care, because every field of it can be a trap. */
export function readError(error: unknown): ReadError {
  const isObject = (typeof error === "object" && error !== null) || typeof error === "function";
  const read = (name: string): string | undefined => {
    try {
      const value = isObject ? (error as Record<string, unknown>)[name] : undefined;
      return typeof value === "string" ? value : undefined;
    } catch {
      return undefined;
    }
  };
  const name = read("name");
  return { name, message: read("message"), stack: read("stack") ?? "", isEngines: name === "InternalError" };
}

/** What an exception is to people: JSON of code, message and stack. */
export function describeError(
  error: unknown,
  read: (error: unknown) => ReadError,
  redact: (text: string) => string,
): string {
  const { name = "", message, stack, isEngines } = read(error);
  const whole = (): string => {
    try {
      return JSON.stringify(error) ?? typeof error;
    } catch {
      return "a value that cannot be shown";
    }
  };
  const codeOf = (): string => {
    // When not even an error fits into the memory, the engine throws null. So may the code.
    if (error === null) return "null";
    if (isEngines && message === "out of memory") return "memory";
    return isEngines && message === "stack overflow" ? "stack" : "exception";
  };
  const says = message === undefined ? `threw ${whole()}` : name === "" ? message : `${name}: ${message}`;
  return JSON.stringify([codeOf(), redact(says).slice(0, 1_000), stack.slice(0, 2_000)]);
}

/** Answers what writes a message of a result as JSON, or as a line `X` that says why there is none. */
export function makeWriteMessage(describe: (error: unknown) => string): (value: object) => string {
  const refused = JSON.stringify([
    "bad_result",
    "The result is not an object when it is written as JSON",
    "",
  ]);
  return (value) => {
    try {
      const text: unknown = JSON.stringify(value);
      return typeof text === "string" && text[0] === "{" ? text : `X${refused}`;
    } catch (error) {
      const [code, message, stack] = JSON.parse(describe(error));
      const why = `The result cannot be written as JSON: ${message}`;
      return `X${JSON.stringify([code === "exception" ? "bad_result" : code, why, stack])}`;
    }
  };
}

/**
 * Answers what writes a result as lines: `S` if the message's text is still the original; `N`; `M` and a message; `A` and a count, then as many lines
 * `E`; `X` and a failure.
 */
export function makeWriteResult(
  write: (value: object) => string,
  limits: ResultLimits,
): (result: unknown, original: string) => string {
  const bad = (message: string, code = "bad_result"): string => `X${JSON.stringify([code, message, ""])}`;
  const kindOf = (value: unknown): string =>
    value === null ? "null" : Array.isArray(value) ? "an array" : `of type ${typeof value}`;
  const isMessage = (value: unknown): value is object =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  const several = (values: readonly unknown[]): string => {
    const count = values.length;
    if (count > limits.messages)
      return bad(`${count} messages were returned; at most ${limits.messages} are allowed`, "too_large");
    let lines = `A${count}`;
    for (let i = 0; i < count; i++) {
      const one = values[i];
      if (!isMessage(one)) return bad(`Element ${i} of the array is ${kindOf(one)}, not a message`);
      const text = write(one);
      if (text[0] === "X") return text;
      lines += `\nE${text}`;
      if (lines.length > limits.chars) return bad("The results together are too large", "too_large");
    }
    return lines;
  };
  const single = (value: object, original: string): string => {
    const text = write(value);
    if (text === original) return "S";
    if (text.length > limits.chars) return bad("The result is too large", "too_large");
    return text[0] === "X" ? text : `M${text}`;
  };
  return (result, original) => {
    if (isMessage(result)) return single(result, original);
    if (result === null) return "N";
    if (Array.isArray(result)) return several(result);
    if (result === undefined) return bad("Nothing was returned: return the message, or null to drop it");
    return bad(`The result is ${kindOf(result)}: return the message, null, or an array of messages`);
  };
}
