export interface ComparedContent {
  readonly what: string;
  readonly source: { readonly count: number; readonly checksum: string };
  readonly result: { readonly count: number; readonly checksum: string };
  readonly isEqual: boolean;
}

/** The command cannot do what was asked. The message says why, and what to do. */
export class CannotMigrate extends Error {
  override readonly name = "CannotMigrate";
  /** The compared values, if the result differs from the source. */
  readonly contents: readonly ComparedContent[];

  constructor(message: string, contents: readonly ComparedContent[] = [], cause?: unknown) {
    super(message, { cause });
    this.contents = contents;
  }
}
