export interface CsvRow {
  /** The line on which it begins, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
  readonly raw: string;
  /** False when the text ended inside quotation marks. */
  readonly isWhole: boolean;
}

/** Rows of comma-separated values (RFC 4180): quoted fields may hold commas, line ends and doubled quotation marks. */
export async function* csvRows(chunks: AsyncIterable<string>): AsyncGenerator<CsvRow> {
  let fields: string[] = [];
  let field = "";
  let raw = "";
  let line = 1;
  let startLine = 1;
  let isQuoted = false;
  /** A quotation mark came inside a quoted field: the next character says whether it ended. */
  let isMaybeEnd = false;
  let isStart = true;

  const endRow = (): CsvRow => {
    const row = {
      line: startLine,
      fields: [...fields, field],
      raw: raw.replace(/\r$/, ""),
      isWhole: !isQuoted || isMaybeEnd,
    };
    fields = [];
    field = "";
    raw = "";
    isQuoted = false;
    isMaybeEnd = false;
    isStart = true;
    return row;
  };

  for await (const chunk of chunks) {
    for (const character of chunk) {
      if (character === "\n") line += 1;
      if (isQuoted && isMaybeEnd) {
        isMaybeEnd = false;
        if (character === '"') {
          field += '"';
          raw += character;
          continue;
        }
        isQuoted = false;
      }
      if (isQuoted) {
        raw += character;
        if (character === '"') isMaybeEnd = true;
        else field += character;
        continue;
      }
      if (character === "\n") {
        field = field.replace(/\r$/, "");
        yield endRow();
        startLine = line;
        continue;
      }
      raw += character;
      if (character === '"' && isStart) isQuoted = true;
      else if (character === ",") {
        fields.push(field);
        field = "";
        isStart = true;
        continue;
      } else field += character;
      isStart = false;
    }
  }
  if (raw !== "" || fields.length > 0) yield endRow();
}
