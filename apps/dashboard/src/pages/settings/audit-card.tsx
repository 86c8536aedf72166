import { useInfiniteQuery } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import { Button } from "../../ui/controls/button.js";
import { JsonTree } from "../../ui/data/json-tree.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/visible-text.js";

export function AuditCard() {
  const api = useApi();
  const audit = useInfiniteQuery({
    queryKey: ["audit"],
    queryFn: ({ pageParam }) => api.audit.list({ limit: 25, cursor: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.nextCursor,
  });
  const entries = audit.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Card title="Audit log" note="Every change through the control API, newest first; secrets are replaced">
      {audit.isError ? (
        <Failure error={audit.error} />
      ) : audit.isPending ? (
        <Skeleton lines={3} />
      ) : entries.length === 0 ? (
        <p className="soft">Nothing has been changed yet.</p>
      ) : (
        <ul className="audit">
          {entries.map((entry) => (
            <li key={entry.id}>
              <details>
                <summary>
                  <span className="grow">
                    <strong className="mono">{visibleText(entry.action)}</strong>{" "}
                    {entry.target && <span className="soft mono">{visibleText(entry.target, 60)}</span>}
                  </span>
                  <span className="small faint">
                    {visibleText(entry.tokenName, 60)} · <Time at={entry.at} />
                  </span>
                </summary>
                {entry.change === undefined ? (
                  <p className="small soft">No body.</p>
                ) : (
                  <JsonTree value={entry.change} label="What was sent" />
                )}
              </details>
            </li>
          ))}
        </ul>
      )}
      {audit.hasNextPage && (
        <div className="list-more">
          <Button size="small" busy={audit.isFetchingNextPage} onClick={() => void audit.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </Card>
  );
}
