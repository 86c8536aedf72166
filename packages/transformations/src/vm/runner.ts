/** Runs inside of the VM, as those of `seal.ts`. */
import type { VmLog } from "./log.js";

/** A promise that was returned. */
interface Pending {
  state: "waits" | "kept" | "broken";
  value: unknown;
}

export interface RunnerParts {
  readonly call: typeof makeCall;
  readonly setTime: (ms: number) => void;
  readonly log: VmLog;
  /** The context besides secrets. */
  readonly given: object;
  readonly describe: (error: unknown) => string;
  readonly write: (result: unknown, original: string) => string;
  /** Results are handed over when there are as many characters. */
  readonly flushChars: number;
}

export interface VmRunner {
  /** `make` evaluates the author's file afresh and answers its function. */
  use(make: () => unknown, secretsJson: string): void;
  /** `[[time, …], [length, …]]`, a line's end, and the messages as JSON, of so many characters each. */
  begin(batch: string): void;
  /**
   * Runs messages. Answers the lines of those that are done, `L` for each line of log before the result, after a first character: `D`
   * all are done, `F` there are more, `P` the promise of the last one waits for jobs.
   */
  next(): string;
  /** The results that were not handed over yet, and the log of the message that was running. */
  take(): string;
}

/** Makes what calls the function: it answers lines of the result, or a promise to wait for. */
export function makeCall(
  make: () => unknown,
  context: object,
  { describe, write }: Pick<RunnerParts, "describe" | "write">,
): (original: string) => string | Pending {
  const noFunction = `X${JSON.stringify(["bad_code", "The default export is not a function", ""])}`;
  const tooDeep = `X${JSON.stringify(["stack", "The message is nested too deeply", ""])}`;
  return (original) => {
    let message: unknown;
    try {
      message = JSON.parse(original);
    } catch (error) {
      return (error as Error | null)?.name === "SyntaxError" ? tooDeep : `X${describe(error)}`;
    }
    try {
      const transform = make();
      if (typeof transform !== "function") return noFunction;
      const result: unknown = transform(message, context);
      if (!(result instanceof Promise)) return write(result, original);
      const pending: Pending = { state: "waits", value: undefined };
      const settle = (state: "kept" | "broken") => (value: unknown) => {
        if (pending.state === "waits") Object.assign(pending, { state, value });
      };
      Promise.prototype.then.call(result, settle("kept"), settle("broken"));
      return pending;
    } catch (error) {
      return `X${describe(error)}`;
    }
  };
}

export function makeRunner(parts: RunnerParts): VmRunner {
  const { setTime, log, given, describe, write, flushChars } = parts;
  const never = `X${JSON.stringify(["never_settles", "The promise that was returned never settles", ""])}`;
  let call: ReturnType<typeof makeCall> = () => "";
  let times: number[] = [];
  let lengths: number[] = [];
  let texts = "";
  let textAt = 0;
  let original = "";
  let at = 0;
  let lines: string[] = [];
  let pending: Pending | undefined;

  const end = (result: string): number => {
    const logged = log.take();
    if (logged !== "") lines.push(logged);
    lines.push(result);
    at++;
    return logged.length + result.length;
  };
  const settled = ({ state, value }: Pending): string => {
    if (state === "waits") return never;
    return state === "kept" ? write(value, original) : `X${describe(value)}`;
  };
  const handOver = (mark: string): string => {
    const text = mark + lines.join("\n");
    lines = [];
    return text;
  };
  return {
    use(make, secretsJson) {
      const secrets = Object.freeze(JSON.parse(secretsJson));
      log.hide(secrets);
      call = parts.call(Object.freeze(make), Object.freeze({ secrets, ...given }), parts);
    },
    begin(batch) {
      const headEnd = batch.indexOf("\n");
      [times, lengths] = JSON.parse(batch.slice(0, headEnd));
      [at, textAt, lines, pending] = [0, headEnd + 1, [], undefined];
      texts = batch;
    },
    next() {
      let chars = pending === undefined ? 0 : end(settled(pending));
      pending = undefined;
      while (at < times.length && chars < flushChars) {
        setTime(times[at] as number);
        log.begin();
        const textEnd = textAt + (lengths[at] as number);
        original = texts.slice(textAt, textEnd);
        textAt = textEnd;
        const result = call(original);
        if (typeof result !== "string") {
          pending = result;
          return handOver("P");
        }
        chars += end(result);
      }
      return handOver(at < times.length ? "F" : "D");
    },
    take() {
      const logged = log.take();
      if (logged !== "") lines.push(logged);
      return handOver("F");
    },
  };
}
