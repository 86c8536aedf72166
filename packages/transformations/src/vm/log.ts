/** Runs inside of the VM, as those of `seal.ts`. */

export interface VmLog {
  /** Given to the function; also the `console`. */
  readonly log: object;
  /** From now on, lines belong to the next message. */
  begin(): void;
  /** The lines of the message, each as an `L` and JSON of `[level, text]`. Those that come later are lost. */
  take(): string;
  /** The text without secrets. */
  redact(text: string): string;
  hide(secrets: { readonly [name: string]: string }): void;
}

/** Makes the log, and the console that writes to it. Lines beyond the limits are counted, not kept. */
export function makeLog(maxLines: number, maxChars: number): VmLog {
  let isOpen = false;
  let lines = "";
  let count = 0;
  let secrets: [name: string, value: string][] = [];
  const redact = (text: string): string => {
    let clean = text;
    for (const [name, value] of secrets) clean = clean.replaceAll(value, () => `[secret ${name}]`);
    return clean;
  };
  const textOf = (value: unknown): string => {
    if (typeof value === "string") return value;
    if (value instanceof Error) return `${value.name}: ${value.message}`;
    try {
      return JSON.stringify(value) ?? String(value);
    } catch {
      return "(cannot be shown)";
    }
  };
  const write =
    (level: string) =>
    (...values: unknown[]): void => {
      if (!isOpen || ++count > maxLines) return;
      const text = redact(values.map(textOf).join(" "));
      const cut = text.length > maxChars ? `${text.slice(0, maxChars - 1)}…` : text;
      lines += `${lines === "" ? "" : "\n"}L${JSON.stringify([level, cut])}`;
    };
  const methods = { info: write("info"), warn: write("warn"), error: write("error") };
  const log = Object.freeze(Object.assign(write("info"), methods));
  const console = { log: methods.info, debug: methods.info, ...methods };
  Object.defineProperty(globalThis, "console", { value: console, enumerable: false });
  return {
    log,
    redact,
    begin() {
      isOpen = true;
      lines = "";
      count = 0;
    },
    take() {
      isOpen = false;
      const more =
        count > maxLines
          ? `\nL${JSON.stringify(["warn", `${count - maxLines} more lines were left out`])}`
          : "";
      const taken = lines + more;
      lines = "";
      count = 0;
      return taken;
    },
    hide(named) {
      const found = Object.entries(named).filter(([, value]) => value.length >= 4);
      // Values of objects are shown as JSON, in which a secret may look otherwise.
      const asJson = found.map(([name, value]): [string, string] => [
        name,
        JSON.stringify(value).slice(1, -1),
      ]);
      secrets = [...found, ...asJson].sort(([, a], [, b]) => b.length - a.length);
    },
  };
}
