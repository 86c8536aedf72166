import type { ComputedTraitView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { useApi } from "../../api/api-context.js";
import { usePagedQuery } from "../../api/use-paged-query.js";
import { Button } from "../../ui/controls/button.js";
import { LoadMore } from "../../ui/controls/load-more.js";
import { QueryView } from "../../ui/feedback/query-view.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card } from "../../ui/layout/page.js";
import { count, counted } from "../../words/numbers.js";
import { noValuesInWords } from "./trait-words.js";
import { Value } from "./value-card.js";
import { ValueList } from "./value-list.js";

/** How many users have a value, and which. */
export function ValuesCard({ trait }: { trait: ComputedTraitView }) {
  const panelId = `${useId()}-why`;
  /** The user whose value is explained in its row; empty: nobody's. */
  const [explained, setExplained] = useState("");
  const api = useApi();
  const values = usePagedQuery({
    queryKey: ["computed-trait-values", trait.id, trait.version],
    read: (cursor) => api.computedTraits.values(trait.id, { limit: 10, cursor }),
    refetchInterval: 10_000,
  });
  const total = useTotal(trait).data?.size;
  const { leftOut } = trait.status;
  return (
    <Card title="Values" note="Users who have a value, longest-known users first">
      <QueryView query={values} skeleton={<Skeleton lines={4} />}>
        {(items) =>
          items.length === 0 && !values.hasNextPage ? (
            <p className="soft">{noValuesInWords(trait)}</p>
          ) : (
            <>
              <p className="preview-size number">{total === undefined ? "…" : count(total)}</p>
              {leftOut !== undefined && (
                <p className="soft">
                  The values of {counted(leftOut.users, "user")} are incomplete: a limit was reached and{" "}
                  {counted(leftOut.events, "event")} left out.
                </p>
              )}
              <ValueList
                values={items}
                action={(userId) => (
                  <Button
                    size="small"
                    look="quiet"
                    aria-expanded={userId === explained}
                    aria-controls={panelId}
                    onClick={() => setExplained(userId === explained ? "" : userId)}
                  >
                    Why?
                  </Button>
                )}
                panel={(userId) =>
                  userId === explained && (
                    <div id={panelId} className="row-panel">
                      <Value trait={trait} userId={userId} />
                    </div>
                  )
                }
              />
              <LoadMore query={values} />
            </>
          )
        }
      </QueryView>
    </Card>
  );
}

/** The number of users with a value. It evaluates every profile, so it is asked for less often than the list. */
function useTotal(trait: ComputedTraitView) {
  const api = useApi();
  const { kind, event, property, withinMs } = trait;
  return useQuery({
    queryKey: ["computed-trait-values", trait.id, trait.version, "size"],
    queryFn: ({ signal }) =>
      api.computedTraits.preview(
        {
          kind,
          event,
          ...(property === undefined ? {} : { property }),
          ...(withinMs === undefined ? {} : { withinMs }),
        },
        signal,
      ),
    refetchInterval: 30_000,
  });
}
