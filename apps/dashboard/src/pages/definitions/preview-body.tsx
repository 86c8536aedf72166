import type { ReactNode } from "react";
import { QueryView, type ShownQuery } from "../../ui/feedback/query-view.js";

/** The states of a preview. */
export function PreviewBody<T>({
  isComplete,
  query,
  incomplete,
  children,
}: {
  isComplete: boolean;
  query: ShownQuery<T>;
  /** What to say before the definition is complete. */
  incomplete: string;
  children: (result: T) => ReactNode;
}) {
  if (!isComplete) return <p className="soft">{incomplete}</p>;
  return (
    <QueryView query={query} skeleton={<p className="soft">Counting…</p>}>
      {children}
    </QueryView>
  );
}
