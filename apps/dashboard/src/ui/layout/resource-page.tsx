import type { ReactNode } from "react";
import { Failure } from "../feedback/failure.js";
import { Skeleton } from "../feedback/skeleton.js";
import { Card, Page } from "./page.js";

/** A page about one thing: while it is asked for and when that failed the same everywhere, else what `children` makes of it. */
export function ResourcePage<T>({
  kind,
  up,
  query,
  children,
}: {
  /** Stands in the title while the thing's name is not known. */
  kind: string;
  up: { readonly href: string; readonly label: string };
  query: { readonly data: T | undefined; readonly error: unknown; refetch(): unknown };
  children: (thing: T) => ReactNode;
}) {
  // What was read once stays on the page while a later call fails: the shell says that the collector is away.
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
