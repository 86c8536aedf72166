import { Link } from "wouter";
import { useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink, IconButton } from "../../ui/controls/button.js";
import { KindTag, StateBadge } from "../../ui/data/facts.js";
import { JsonTree } from "../../ui/data/json-tree.js";
import { Dialog } from "../../ui/layout/dialog.js";
import { SIDE_PANEL, useMedia } from "../../ui/use-media.js";
import { messageTitle, visibleText } from "../../words/messages.js";
import { exactTime, localTime } from "../../words/times.js";
import { CopyAs } from "../message/copy-as.js";
import { IssueList } from "../message/issue-list.js";
import { SourceLink } from "../sources/source-link.js";
import type { LogEntry } from "./live-log.js";

/** The selected message: in a panel beside the list, or in a dialog on narrow screens. */
export function EntryPanel({ entry, onClose }: { entry: LogEntry; onClose: () => void }) {
  const isBeside = useMedia(SIDE_PANEL);
  const title = messageTitle(entry.message);
  if (!isBeside) {
    return (
      <Dialog open onClose={onClose} title={title}>
        <EntryBody entry={entry} />
      </Dialog>
    );
  }
  return (
    <section className="entry" aria-label="Selected message">
      <header className="entry-head">
        <KindTag kind={String(entry.message.type ?? "?")} />
        <h2 className="grow">{title}</h2>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      <EntryBody entry={entry} />
    </section>
  );
}

function EntryBody({ entry }: { entry: LogEntry }) {
  const names = useNames();
  return (
    <div className="entry-body">
      <dl className="facts small">
        <dt>Received</dt>
        <dd title={exactTime(entry.receivedAt)}>{localTime(entry.receivedAt)}</dd>
        <dt>Source</dt>
        <dd>
          <SourceLink id={entry.sourceId} />
        </dd>
        <dt>Message id</dt>
        <dd className="mono">{entry.messageId === undefined ? "none" : visibleText(entry.messageId, 100)}</dd>
      </dl>
      {entry.kind === "accepted" && entry.violations !== undefined && <IssueList issues={entry.violations} />}
      {entry.kind === "rejected" ? (
        <IssueList issues={entry.issues} />
      ) : (
        <ul className="stack-tight">
          {entry.outcomes.length === 0 && (
            <li className="small faint">Stored. The source has no destinations.</li>
          )}
          {entry.outcomes.map((outcome) => (
            <li key={outcome.destinationId} className="entry-outcome">
              <StateBadge state={outcome.state} />
              <Link href={addresses.destination(outcome.destinationId)}>
                {names.destination(outcome.destinationId)}
              </Link>
              <span className="small faint grow">{visibleText(outcome.reason, 200)}</span>
            </li>
          ))}
        </ul>
      )}
      <div className="row">
        {entry.messageId !== undefined && (
          <ButtonLink look="primary" href={addresses.message(entry.messageId, entry.sourceId)}>
            Open timeline
          </ButtonLink>
        )}
        {entry.kind === "accepted" && <CopyAs message={entry.message} sourceId={entry.sourceId} />}
      </div>
      <JsonTree
        value={
          entry.kind === "rejected" && Object.keys(entry.message).length === 0 ? entry.excerpt : entry.message
        }
        label="The message as JSON"
      />
    </div>
  );
}
