import type { ListAnswer } from "@sluice/control-api";
import { type keepPreviousData, type QueryKey, useInfiniteQuery } from "@tanstack/react-query";

/** A list of the API that is read page by page; `data` has the items of all pages read so far. */
export function usePagedQuery<T>({
  read,
  ...options
}: {
  queryKey: QueryKey;
  read: (cursor: string | undefined) => Promise<ListAnswer<T>>;
  refetchInterval?: number;
  placeholderData?: typeof keepPreviousData;
}) {
  return useInfiniteQuery({
    ...options,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: ListAnswer<T>) => page.nextCursor,
    select: ({ pages }): readonly T[] => pages.flatMap((page) => page.items),
  });
}
