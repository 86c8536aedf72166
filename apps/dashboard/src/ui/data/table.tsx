import type { ReactNode } from "react";

export interface Column<T> {
  readonly head: string;
  /** Replaces `head` in the table's head. */
  readonly headCell?: ReactNode;
  readonly cell: (item: T) => ReactNode;
  readonly align?: "end";
  /** The column that names the row. It is the first line of the card on narrow screens. */
  readonly lead?: boolean;
  /** As wide as its content where the table has one line a row. */
  readonly fit?: boolean;
  /** Left out where the table would be too narrow for it; `"very"`: unless the screen is large. The cards of narrow screens have it. */
  readonly wide?: boolean | "very";
}

/**
 * A table. On narrow screens each row is a card, labelled with the column heads. `oneLine`: elsewhere, long texts are cut off; with
 * `"names"`, the first column has more room than others.
 */
export function Table<T>({
  label,
  columns,
  items,
  keyOf,
  oneLine = false,
}: {
  label: string;
  columns: readonly Column<T>[];
  items: readonly T[];
  keyOf: (item: T) => string;
  oneLine?: boolean | "names";
}) {
  return (
    <div className="table-box">
      <table
        className={`table ${oneLine ? "table-one-line" : ""} ${oneLine === "names" ? "table-names" : ""}`}
        aria-label={label}
      >
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" className={classOf(column)}>
                {column.headCell ?? column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={keyOf(item)}>
              {columns.map((column) => (
                <td key={column.head} data-label={column.head} className={classOf(column)}>
                  {column.cell(item)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classOf({
  align,
  lead,
  fit,
  wide,
}: Pick<Column<never>, "align" | "lead" | "fit" | "wide">): string | undefined {
  const classes = [
    align === "end" && "end",
    lead && "lead",
    fit && "fit",
    wide && "wide",
    wide === "very" && "very-wide",
  ];
  return classes.filter(Boolean).join(" ") || undefined;
}
