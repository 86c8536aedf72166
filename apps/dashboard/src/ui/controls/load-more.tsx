import { Button } from "./button.js";

/** Loads the next page of a list; nothing on the last page. */
export function LoadMore({
  query,
}: {
  query: {
    readonly hasNextPage: boolean;
    readonly isFetchingNextPage: boolean;
    fetchNextPage(): Promise<unknown>;
  };
}) {
  if (!query.hasNextPage) return null;
  return (
    <div className="list-more">
      <Button size="small" busy={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        Show more
      </Button>
    </div>
  );
}
