import { itemSpan, scanJson } from "../bytes/scan-json.js";

const BLANK = 0x20;
const NULL = Buffer.from("null");

/**
 * Overwrites messages in a request's bytes with `null` and blanks, so the length and all other positions stay. Refused items and
 * duplicates are overwritten too, and the envelope when no message is left.
 */
export function overwriteMessages(
  body: Uint8Array,
  places: Iterable<number>,
  { isSingle, skipped }: { readonly isSingle: boolean; readonly skipped: readonly number[] },
): void {
  const scan = scanJson(body, Number.POSITIVE_INFINITY);
  const itemCount = scan.bounds.length - 1;
  if (isSingle || itemCount < 1) {
    overwrite(body, 0, body.length);
    return;
  }
  const gone = new Set([...places, ...skipped]);
  for (let index = 0; index < itemCount; index++) {
    const [start, end] = itemSpan(body, scan, index);
    if (isOverwritten(body, start)) gone.add(index);
    else if (gone.has(index)) overwrite(body, start, end);
  }
  if (gone.size >= itemCount) overwrite(body, 0, body.length);
}

function isOverwritten(body: Uint8Array, start: number): boolean {
  return body[start] === NULL[0];
}

/** Leaves spans that are too short for `null`: `{}` or a digit is not a message. */
function overwrite(body: Uint8Array, start: number, end: number): void {
  if (end - start < NULL.length) return;
  body.fill(BLANK, start, end);
  body.set(NULL, start);
}
