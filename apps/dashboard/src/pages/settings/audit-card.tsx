import type { AuditEntryView } from "@sluice/control-api";
import { useApi } from "../../api/api-context.js";
import { usePagedQuery } from "../../api/use-paged-query.js";
import { LoadMore } from "../../ui/controls/load-more.js";
import { JsonTree } from "../../ui/data/json-tree.js";
import { Time } from "../../ui/data/time.js";
import { QueryView } from "../../ui/feedback/query-view.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/visible-text.js";
import { actionText } from "./audit-words.js";

export function AuditCard() {
  const api = useApi();
  const audit = usePagedQuery({
    queryKey: ["audit"],
    read: (cursor) => api.audit.list({ limit: 25, cursor }),
  });
  return (
    <Card title="Audit log" note="All changes through the control API, newest first. Secrets are redacted">
      <QueryView query={audit} skeleton={<Skeleton lines={3} />}>
        {(entries) =>
          entries.length === 0 ? (
            <p className="soft">No changes yet.</p>
          ) : (
            <ul className="audit">
              {entries.map((entry) => (
                <li key={entry.id}>
                  <Entry entry={entry} />
                </li>
              ))}
            </ul>
          )
        }
      </QueryView>
      <LoadMore query={audit} />
    </Card>
  );
}

function Entry({ entry }: { entry: AuditEntryView }) {
  return (
    <details>
      <summary>
        <span className="grow">
          <strong title={entry.action}>{visibleText(actionText(entry.action))}</strong>{" "}
          {entry.targetName ? (
            <span title={entry.target}>{visibleText(entry.targetName, 60)}</span>
          ) : (
            entry.target && <span className="soft mono">{visibleText(entry.target, 60)}</span>
          )}
        </span>
        <span className="small faint">
          {visibleText(entry.tokenName, 60)} · <Time at={entry.at} />
        </span>
      </summary>
      {entry.change === undefined ? (
        <p className="small soft">No request body.</p>
      ) : (
        <JsonTree value={entry.change} label="Request body" />
      )}
    </details>
  );
}
