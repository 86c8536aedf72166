import { useApi } from "../../api/api-context.js";
import { usePagedQuery } from "../../api/use-paged-query.js";
import { Button } from "../../ui/controls/button.js";
import { LoadMore } from "../../ui/controls/load-more.js";
import { Table } from "../../ui/data/table.js";
import { Time } from "../../ui/data/time.js";
import { QueryView } from "../../ui/feedback/query-view.js";
import { Card } from "../../ui/layout/page.js";
import { idOf, UserLink } from "../definitions/user-link.js";

export function MembersCard({
  audienceId,
  onExplain,
}: {
  audienceId: string;
  onExplain: (userId: string) => void;
}) {
  const api = useApi();
  const members = usePagedQuery({
    queryKey: ["audience-members", audienceId],
    read: (cursor) => api.audiences.members(audienceId, { limit: 25, cursor }),
    refetchInterval: 3_000,
  });
  return (
    <Card title="Members" note="Current members, sorted by id" flush>
      <QueryView query={members}>
        {(items) =>
          items.length === 0 ? (
            <p className="soft card-text">No user meets the conditions.</p>
          ) : (
            <Table
              label="Members, by id"
              items={items}
              keyOf={idOf}
              columns={[
                { head: "User", lead: true, cell: (one) => <UserLink user={one} /> },
                {
                  head: "Member since",
                  align: "end",
                  cell: (one) => (one.since ? <Time at={one.since} /> : "–"),
                },
                {
                  head: "Actions",
                  align: "end",
                  cell: (one) => (
                    <Button size="small" look="quiet" onClick={() => onExplain(idOf(one))}>
                      Explain
                    </Button>
                  ),
                },
              ]}
            />
          )
        }
      </QueryView>
      <LoadMore query={members} />
    </Card>
  );
}
