/** How a setting is read, checked and described. */
export interface Setting<T> {
  /** The environment variable; the key in the file is the name in `SETTINGS`. */
  readonly env: string;
  readonly default: T;
  /** Completes the sentence "SETTING must be …". */
  readonly rule: string;
  /** Parses text (environment) or a JSON value (file); undefined if it breaks the rule. */
  readonly parse: (value: unknown) => T | undefined;
  readonly meaning: string;
  /** Neither errors nor logs show the value. */
  readonly isSecret?: boolean;
}
