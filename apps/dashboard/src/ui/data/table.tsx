import type { ReactNode } from "react";

export interface Column<T> {
  readonly head: string;
  readonly cell: (item: T) => ReactNode;
  readonly align?: "end";
  /** The column that names the row. It is the first line of the card on narrow screens. */
  readonly lead?: boolean;
}

/** A table. On narrow screens each row is a card, labelled with the column heads. */
export function Table<T>({
  label,
  columns,
  items,
  keyOf,
}: {
  label: string;
  columns: readonly Column<T>[];
  items: readonly T[];
  keyOf: (item: T) => string;
}) {
  return (
    <div className="table-box">
      <table className="table" aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.head} scope="col" className={column.align === "end" ? "end" : undefined}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.map((item) => (
            <tr key={keyOf(item)}>
              {columns.map((column) => (
                <td
                  key={column.head}
                  data-label={column.head}
                  className={
                    [column.align === "end" && "end", column.lead && "lead"].filter(Boolean).join(" ") ||
                    undefined
                  }
                >
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
