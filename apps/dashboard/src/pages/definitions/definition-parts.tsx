import type { SyncView } from "@sluice/control-api";
import { audienceKey } from "@sluice/protocol";
import { type ReactNode, useState } from "react";
import { Link } from "wouter";
import { useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { InlineForm } from "../../ui/controls/field.js";
import { Badge, DueTime, Time } from "../../ui/data/facts.js";
import { QueryView, type ShownQuery } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { counted, percent } from "../../words/numbers.js";
import type { Tone } from "../../words/states.js";
import type { Definition } from "./definition-kind.js";

/** Under the name field: which trait destinations get. The key is fixed when the definition is created. */
export function KeyHint({ existing, name }: { existing: Definition | undefined; name: string }) {
  const key = existing?.key ?? audienceKey(name);
  if (key === "") return <>The trait that destinations get is named after it.</>;
  return (
    <>
      Destinations get the trait <code>{key}</code>.{existing && " Renaming does not change it."}
    </>
  );
}

/** A user as lists of members and values name it; anonymous users have only an anonymous id. */
interface ListedUser {
  readonly userId?: string;
  readonly anonymousId?: string;
}

/** The id under which the API knows the user. */
export function idOf({ userId, anonymousId }: ListedUser): string {
  return userId ?? anonymousId ?? "";
}

export function UserLink({ user, className = "mono" }: { user: ListedUser; className?: string }) {
  const id = idOf(user);
  return (
    <Link className={className} href={addresses.profile(id)}>
      {visibleText(user.userId ?? `${id} (anonymous)`, 80)}
    </Link>
  );
}

/** Asks for a user id and explains the definition's result for that user. */
export function WhyCard({
  title,
  note,
  userId,
  children,
}: {
  title: string;
  note: string;
  /** The user to begin with; empty: none. */
  userId: string;
  children: (userId: string) => ReactNode;
}) {
  const [asked, setAsked] = useState(userId);
  const [text, setText] = useState(userId);
  return (
    <Card title={title} note={note}>
      <div className="stack">
        <InlineForm label="User id" button="Explain" value={text} onChange={setText} onSubmit={setAsked} />
        {asked !== "" && children(asked)}
      </div>
    </Card>
  );
}

/** What every definition has; `children` are the facts of its kind. */
export function DefinitionFacts({
  definition: { key, destinationIds, createdAt },
  children,
}: {
  definition: Definition;
  children: ReactNode;
}) {
  const names = useNames();
  return (
    <dl className="facts">
      <dt>Trait</dt>
      <dd>
        <code>{key}</code>
      </dd>
      {children}
      <dt>Destinations</dt>
      <dd>
        {destinationIds.length === 0
          ? "None"
          : destinationIds.map((id) => (
              <Link key={id} className="list-link" href={addresses.destination(id)}>
                {names.destination(id)}
              </Link>
            ))}
      </dd>
      <dt>Created</dt>
      <dd>
        <Time at={createdAt} />
      </dd>
    </dl>
  );
}

const WORDS: Readonly<Record<SyncView["state"], { readonly label: string; readonly tone: Tone }>> = {
  reading_history: { label: "Reading history", tone: "wait" },
  evaluating: { label: "Evaluating", tone: "wait" },
  live: { label: "Live", tone: "good" },
  paused: { label: "Paused", tone: "quiet" },
  disabled: { label: "Disabled", tone: "quiet" },
  scheduled: { label: "Scheduled", tone: "accent" },
};

export function SyncBadge({ status }: { status: SyncView }) {
  const { label, tone } = WORDS[status.state];
  const isInProgress = status.state === "reading_history" || status.state === "evaluating";
  return (
    <Badge tone={tone}>
      {label}
      {isInProgress && ` ${percent(status.progress)}`}
    </Badge>
  );
}

/** The progress of the first sync. */
export function SyncProgress({ status }: { status: SyncView }) {
  if (status.state === "live" || status.state === "disabled") return null;
  return (
    <div className="stack-tight" role="status">
      <progress className="progress" max={1} value={status.progress} aria-label="Progress of the sync" />
      <p className="small soft">
        {WORDS[status.state].label}: {counted(status.evaluated, "profile")} so far, started{" "}
        <Time at={status.startedAt} />
        {status.nextSyncAt && (
          <>
            {" "}
            · next sync <DueTime at={status.nextSyncAt} />
          </>
        )}
      </p>
    </div>
  );
}

/** The states of a preview. */
export function PreviewBody<T>({
  isComplete,
  query,
  incomplete,
  children,
}: {
  isComplete: boolean;
  query: ShownQuery<T>;
  /** What to say before the definition is complete. */
  incomplete: string;
  children: (result: T) => ReactNode;
}) {
  if (!isComplete) return <p className="soft">{incomplete}</p>;
  return (
    <QueryView query={query} skeleton={<p className="soft">Counting…</p>}>
      {children}
    </QueryView>
  );
}
