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
    // When not even an error fits into the memory, the engine throws null.
    if (error === null || (isEngines && message === "out of memory")) return "memory";
    return isEngines && message === "stack overflow" ? "stack" : "exception";
  };
  const says = message === undefined ? `threw ${whole()}` : name === "" ? message : `${name}: ${message}`;
  return JSON.stringify([codeOf(), redact(says).slice(0, 1_000), stack.slice(0, 2_000)]);
}

/** The text of a message of a result, or why there is none. */
export function writeMessage(
  value: object,
  describe: (error: unknown) => string,
): string | { readonly code: string; readonly message: string; readonly stack: string } {
  let text: unknown;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    const [code, message, stack] = JSON.parse(describe(error));
    const why = `The result cannot be written as JSON: ${message}`;
    return { code: code === "exception" ? "bad_result" : code, message: why, stack };
  }
  if (typeof text === "string" && text[0] === "{") return text;
  return { code: "bad_result", message: "The result is not an object when it is written as JSON", stack: "" };
}

/** Writes a result as lines: `N`; `M` and a message; `A` and a count, then as many lines `E`; `X` and a failure. */
export function writeResult(
  result: unknown,
  write: (value: object) => ReturnType<typeof writeMessage>,
  limits: ResultLimits,
): string[] {
  const bad = (message: string, code = "bad_result", stack = ""): string[] => [
    `X${JSON.stringify([code, message, stack])}`,
  ];
  const kindOf = (value: unknown): string =>
    value === null ? "null" : Array.isArray(value) ? "an array" : `of type ${typeof value}`;
  const isMessage = (value: unknown): value is object =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  /** Lines of messages, `mark` before each. */
  const messages = (values: ArrayLike<unknown>, count: number, mark: string): string[] => {
    const lines: string[] = [];
    let chars = 0;
    for (let i = 0; i < count; i++) {
      const one = values[i];
      if (!isMessage(one)) return bad(`Element ${i} of the array is ${kindOf(one)}, not a message`);
      const text = write(one);
      if (typeof text !== "string") return bad(text.message, text.code, text.stack);
      chars += text.length;
      if (chars > limits.chars) return bad("The result is too large", "too_large");
      lines.push(mark + text);
    }
    return lines;
  };
  if (result === null) return ["N"];
  if (result === undefined) return bad("Nothing was returned: return the message, or null to drop it");
  if (isMessage(result)) return messages([result], 1, "M");
  if (!Array.isArray(result))
    return bad(`The result is ${kindOf(result)}: return the message, null, or an array of messages`);
  const count = result.length;
  if (count > limits.messages)
    return bad(`${count} messages were returned; at most ${limits.messages} are allowed`, "too_large");
  const lines = messages(result, count, "E");
  return lines[0]?.[0] === "X" ? lines : [`A${count}`, ...lines];
}
