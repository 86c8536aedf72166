import type { ReactNode } from "react";
import { Failure } from "./failure.js";
import { Skeleton } from "./skeleton.js";

/** The part of a React Query result that is shown. */
export interface ShownQuery<T> {
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isError: boolean;
  refetch(): unknown;
}

/** The error of a query, a skeleton while it loads, or its data. */
export function QueryView<T>({
  query,
  skeleton = <Skeleton />,
  canRetry = false,
  children,
}: {
  query: ShownQuery<T>;
  skeleton?: ReactNode;
  canRetry?: boolean;
  children: (data: T) => ReactNode;
}) {
  if (query.isError)
    return <Failure error={query.error} {...(canRetry && { onRetry: () => void query.refetch() })} />;
  if (query.data === undefined) return skeleton;
  return children(query.data);
}
