import { count } from "../../words/numbers.js";

/** A count in a table. Zero is faint, so that other counts stand out. */
export function Count({ value }: { value: number | undefined }) {
  if (value === undefined) return <>…</>;
  return <span className={value === 0 ? "number faint" : "number"}>{count(value)}</span>;
}
