import type { LogLine, TransformFailure } from "../transform.js";
import { SAME, type ThreadResult } from "./answer.js";

/** Where a stack names the author's file. */
const PLACE = /\(?transform\.ts:(\d+)(?::(\d+))?/;

/** The place of an exception in the author's file. `shift`: characters that stand before its first line. */
export function placeIn(stack: string, shift: number): Pick<TransformFailure, "line" | "column"> {
  const [, line, column] = PLACE.exec(stack) ?? [];
  if (line === undefined) return {};
  const shifted = Number(column) - (line === "1" ? shift : 0);
  return { line: Number(line), ...(shifted > 0 ? { column: shifted } : {}) };
}

/** Reads the lines of `VmRunner`. */
export class LineReader {
  readonly #shift: number;
  readonly #isFull: () => boolean;
  readonly done: ThreadResult[] = [];
  /** The lines of log of the message that is not done yet. */
  logs: LogLine[] = [];

  /** `isFull`: whether the VM has little memory left. */
  constructor(shift: number, isFull: () => boolean) {
    this.#shift = shift;
    this.#isFull = isFull;
  }

  read(text: string): void {
    if (text === "") return;
    const lines = text.split("\n");
    for (let i = 0; i < lines.length; i++) {
      const line = lines[i] as string;
      const rest = line.slice(1);
      if (line[0] === "L") {
        const [level, shown] = JSON.parse(rest);
        this.logs.push({ level, text: shown });
      } else if (line[0] === "A") {
        const count = Number(rest);
        const texts = lines.slice(i + 1, i + 1 + count).map((one) => one.slice(1));
        this.#end({ kind: "texts", texts, isArray: true });
        i += count;
      } else if (line === "S") this.#end({ kind: "same" });
      else if (line[0] === "M") this.#end({ kind: "texts", texts: [rest], isArray: false });
      else this.#end(line === "N" ? { kind: "dropped" } : this.#failure(rest));
    }
  }

  #end(result: Unlogged): void {
    const { logs } = this;
    const plain = logs.length === 0 ? plainOf(result) : undefined;
    this.done.push(plain ?? { ...result, logs });
    // A result that has no lines yet keeps the list too: the next message must not write into it.
    if (plain === undefined) this.logs = [];
  }

  #failure(json: string): Unlogged {
    const [found, message, stack] = JSON.parse(json);
    const ofNull = this.#isFull() ? "memory" : "exception";
    const code = found === "null" ? ofNull : found;
    return { kind: "failed", code, message, ...placeIn(stack, this.#shift) };
  }
}

/** Undefined: it needs more than a text. */
function plainOf(result: Unlogged): string | undefined {
  if (result.kind === "same") return SAME;
  return result.kind === "texts" && !result.isArray ? result.texts[0] : undefined;
}

/** A result whose lines of log are still to be added. */
type Unlogged = WithoutLogs<Exclude<ThreadResult, string>>;
type WithoutLogs<Union> = Union extends unknown ? Omit<Union, "logs"> : never;
