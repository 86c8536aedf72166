import type { ReactNode } from "react";
import { Failure, Skeleton } from "../feedback.js";
import { Card, Page } from "./page.js";

/** The page of one resource: a skeleton while it loads, its error, or `children`. */
export function ResourcePage<T>({
  kind,
  up,
  query,
  children,
}: {
  /** The title until the name is loaded. */
  kind: string;
  up: { readonly href: string; readonly label: string };
  query: { readonly data: T | undefined; readonly error: unknown; refetch(): unknown };
  children: (resource: T) => ReactNode;
}) {
  // Loaded data stays when a later call fails. The shell shows that the collector cannot be reached.
  if (query.data !== undefined) return children(query.data);
  return (
    <Page title={kind} up={up}>
      {query.error ? (
        <Failure error={query.error} onRetry={() => void query.refetch()} />
      ) : (
        <Card>
          <Skeleton />
        </Card>
      )}
    </Page>
  );
}
