import { count } from "../../words/numbers.js";

/** A number of a table; nothing is written faintly, so that what there is stands out. */
export function Count({ value }: { value: number | undefined }) {
  if (value === undefined) return <>…</>;
  return <span className={value === 0 ? "number faint" : "number"}>{count(value)}</span>;
}
