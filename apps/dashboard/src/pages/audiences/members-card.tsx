import { useId, useState } from "react";
import { useApi } from "../../api/api-context.js";
import { usePagedQuery } from "../../api/use-paged-query.js";
import { Button } from "../../ui/controls/button.js";
import { LoadMore } from "../../ui/controls/load-more.js";
import { Table } from "../../ui/data/table.js";
import { Time } from "../../ui/data/time.js";
import { QueryView } from "../../ui/feedback/query-view.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/visible-text.js";
import { idOf, UserLink } from "../definitions/user-link.js";
import { Membership } from "./membership-card.js";

export function MembersCard({
  audienceId,
  nameOf,
}: {
  audienceId: string;
  /** The name of an audience by its id. */
  nameOf: (id: string) => string;
}) {
  const panelId = useId();
  /** The user whose membership is explained in its row; empty: nobody's. */
  const [explained, setExplained] = useState("");
  const api = useApi();
  const members = usePagedQuery({
    queryKey: ["audience-members", audienceId],
    read: (cursor) => api.audiences.members(audienceId, { limit: 25, cursor }),
    refetchInterval: 3_000,
  });
  return (
    <Card title="Members" note="Current members. The longest-known users come first" flush>
      <QueryView query={members}>
        {(items) =>
          items.length === 0 ? (
            <p className="soft card-text">No user meets the conditions.</p>
          ) : (
            <Table
              label="Members, longest-known users first"
              items={items}
              keyOf={idOf}
              columns={[
                {
                  head: "User",
                  lead: true,
                  cell: (one) => (
                    <>
                      <UserLink user={one} />
                      {one.name !== undefined && <span className="soft"> {visibleText(one.name, 60)}</span>}
                      {idOf(one) === explained && (
                        <div id={`${panelId}-why`} className="row-panel">
                          <Membership audienceId={audienceId} userId={explained} nameOf={nameOf} />
                        </div>
                      )}
                    </>
                  ),
                },
                {
                  head: "Member since",
                  align: "end",
                  cell: (one) => (one.since ? <Time at={one.since} /> : "–"),
                },
                {
                  head: "Actions",
                  align: "end",
                  cell: (one) => (
                    <Button
                      size="small"
                      look="quiet"
                      aria-expanded={idOf(one) === explained}
                      aria-controls={`${panelId}-why`}
                      onClick={() => setExplained(idOf(one) === explained ? "" : idOf(one))}
                    >
                      Why?
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
