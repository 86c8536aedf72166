import type { ReactNode } from "react";
import { Failure, QueryView, type ShownQuery } from "../feedback.js";
import { Card } from "./page.js";

/** The one list of a page: its error, a skeleton while it loads, the empty state, or the table that `children` renders. */
export function ListCard<T>({
  query,
  empty,
  children,
}: {
  query: ShownQuery<readonly T[]>;
  empty: ReactNode;
  children: (items: readonly T[]) => ReactNode;
}) {
  if (query.isError) return <Failure error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <Card flush>
      <QueryView query={query}>{(items) => (items.length === 0 ? empty : children(items))}</QueryView>
    </Card>
  );
}
