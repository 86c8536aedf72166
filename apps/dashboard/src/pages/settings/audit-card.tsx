import type { AuditEntryView } from "@sluice/control-api";
import { useApi, usePagedQuery } from "../../api/queries.js";
import { LoadMore } from "../../ui/controls/button.js";
import { Time } from "../../ui/data/facts.js";
import { JsonTree } from "../../ui/data/json-tree.js";
import { QueryView, Skeleton } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";

/** What an entry of the audit log says was done, by the operation's name in the API. */
const ACTIONS: Readonly<Record<string, string>> = {
  "audiences.create": "Created audience",
  "audiences.delete": "Deleted audience",
  "audiences.patch": "Changed audience",
  "backups.create": "Made a backup",
  "cluster.drain": "Drained process",
  "cluster.undrain": "Ended the drain of process",
  "collector.reset": "Deleted all data",
  "computed_traits.create": "Created computed trait",
  "computed_traits.delete": "Deleted computed trait",
  "computed_traits.patch": "Changed computed trait",
  "deletions.create": "Started deletion",
  "deletions.giveUp": "Finished deletion without notifying",
  "deletions.retry": "Retried delete messages of",
  "deliveries.retry": "Retried delivery",
  "destinations.create": "Created destination",
  "destinations.delete": "Deleted destination",
  "destinations.patch": "Changed destination",
  "destinations.test": "Sent a test to",
  "operations.cancel": "Cancelled operation",
  "operations.create": "Started operation",
  "replays.create": "Started replay",
  "sources.addWriteKey": "Added a write key to",
  "sources.create": "Created source",
  "sources.delete": "Deleted source",
  "sources.patch": "Changed source",
  "sources.removePlan": "Removed the tracking plan of",
  "sources.removeWriteKey": "Removed a write key of",
  "sources.setPlan": "Set the tracking plan of",
  "suppressions.lift": "Lifted suppression of",
  "tokens.create": "Created token",
  "tokens.revoke": "Revoked token",
  "transformations.create": "Created transformation",
  "transformations.delete": "Deleted transformation",
  "transformations.patch": "Changed transformation",
};

/** In words; the name itself for an operation that this page does not know. */
export function actionText(action: string): string {
  return ACTIONS[action] ?? action;
}

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
