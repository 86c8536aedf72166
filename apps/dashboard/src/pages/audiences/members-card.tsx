import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import { useApi } from "../../api/api-context.js";
import { addresses } from "../../routing/addresses.js";
import { Button } from "../../ui/controls/button.js";
import { Table } from "../../ui/data/table.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/visible-text.js";

export function MembersCard({ audienceId, onWhy }: { audienceId: string; onWhy: (userId: string) => void }) {
  const api = useApi();
  const members = useInfiniteQuery({
    queryKey: ["audience-members", audienceId],
    queryFn: ({ pageParam }) => api.audiences.members(audienceId, { limit: 25, cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor,
    refetchInterval: 3_000,
  });
  const items = members.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Card title="Members" note="By id, as they are now" flush>
      {members.isError ? (
        <Failure error={members.error} />
      ) : members.isPending ? (
        <Skeleton />
      ) : items.length === 0 ? (
        <p className="soft card-text">Nobody meets the conditions now.</p>
      ) : (
        <Table
          label="Members, by id"
          items={items}
          keyOf={(one) => one.userId ?? one.anonymousId ?? ""}
          columns={[
            {
              head: "User",
              lead: true,
              cell: (one) => (
                <Link className="mono" href={addresses.profile(one.userId ?? one.anonymousId ?? "")}>
                  {visibleText(one.userId ?? `${one.anonymousId} (anonymous)`, 80)}
                </Link>
              ),
            },
            { head: "Since", align: "end", cell: (one) => (one.since ? <Time at={one.since} /> : "–") },
            {
              head: "Why",
              align: "end",
              cell: (one) => (
                <Button size="small" look="quiet" onClick={() => onWhy(one.userId ?? one.anonymousId ?? "")}>
                  Why?
                </Button>
              ),
            },
          ]}
        />
      )}
      {members.hasNextPage && (
        <div className="list-more">
          <Button size="small" busy={members.isFetchingNextPage} onClick={() => void members.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </Card>
  );
}
