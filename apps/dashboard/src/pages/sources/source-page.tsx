import type { SourceView } from "@sluice/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link } from "wouter";
import { useApi } from "../../api/api-context.js";
import { useDestinations } from "../../api/queries.js";
import { DraftConflict } from "../../forms/edit-conflict.js";
import { useDraft } from "../../forms/use-draft.js";
import { addresses } from "../../routing/addresses.js";
import { Button, ButtonLink, IconButton } from "../../ui/controls/button.js";
import { CopyButton } from "../../ui/controls/copy-button.js";
import { SelectField, TextField } from "../../ui/controls/field.js";
import { Badge } from "../../ui/data/badge.js";
import { Time } from "../../ui/data/time.js";
import { Failure } from "../../ui/feedback/failure.js";
import { useNotify } from "../../ui/feedback/notice.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Icon } from "../../ui/icon.js";
import { Confirm } from "../../ui/layout/confirm.js";
import { DeleteCard } from "../../ui/layout/delete-card.js";
import { Card, Page } from "../../ui/layout/page.js";
import { ResourcePage } from "../../ui/layout/resource-page.js";
import { issueAt, issuesOf } from "../../words/issues.js";
import { SnippetTabs } from "./snippet-tabs.js";
import { SOURCE_IDENTITIES, SOURCE_KINDS } from "./source-kinds.js";
import { UsageCard } from "./usage-card.js";
import { newestKey } from "./write-key.js";

/** How often the page looks whether somebody else changed what its forms show. */
const CHANGES_MS = 5_000;

export function SourcePage({ id }: { id: string }) {
  const api = useApi();
  const source = useQuery({
    queryKey: ["sources", id],
    queryFn: () => api.sources.get(id),
    refetchInterval: CHANGES_MS,
  });
  return (
    <ResourcePage kind="Source" up={{ href: addresses.sources(), label: "Sources" }} query={source}>
      {(found) => <SourceBody source={found} />}
    </ResourcePage>
  );
}

function SourceBody({ source }: { source: SourceView }) {
  const { id, name, kind } = source;
  return (
    <Page
      title={name}
      up={{ href: addresses.sources(), label: "Sources" }}
      badge={<Badge tone="quiet">{SOURCE_KINDS[kind].label}</Badge>}
      actions={
        <ButtonLink icon="live" href={addresses.live(`source:${id}`)}>
          Its messages
        </ButtonLink>
      }
    >
      <Card title="Send messages" note="With the newest write key of this source">
        <SnippetTabs writeKey={newestKey(source)} />
      </Card>
      <div className="two-columns">
        <WriteKeys source={source} />
        <Connections sourceId={id} />
      </div>
      <UsageCard sourceId={id} />
      <BlockedEvents source={source} />
      <SourceSettings source={source} />
      <Removal source={source} />
    </Page>
  );
}

function WriteKeys({ source }: { source: SourceView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const [leaving, setLeaving] = useState<string | undefined>();
  const refresh = () => queries.invalidateQueries({ queryKey: ["sources"] });
  const add = useMutation({
    mutationFn: () => api.sources.addWriteKey(source.id),
    onSuccess: async () => {
      await refresh();
      notify("New key made; the old ones stay valid until you remove them");
    },
  });
  const remove = useMutation({
    mutationFn: (key: string) => api.sources.removeWriteKey(source.id, key),
    onSuccess: async () => {
      setLeaving(undefined);
      await refresh();
    },
  });
  return (
    <Card
      title="Write keys"
      note="Oldest first. To rotate: make a new one, move your clients over, remove the old."
      actions={
        <Button size="small" icon="plus" busy={add.isPending} onClick={() => add.mutate()}>
          New key
        </Button>
      }
    >
      <ul className="lines">
        {source.writeKeys.map(({ key, createdAt, isMasked = false }) => (
          <li key={key}>
            <code
              className="grow"
              title={isMasked ? "This token may only read: keys are not shown whole" : undefined}
            >
              {key}
            </code>
            <span className="small faint">
              <Time at={createdAt} />
            </span>
            {!isMasked && <CopyButton text={key} label="Copy the write key" />}
            {!isMasked && source.writeKeys.length > 1 && (
              <IconButton icon="deletions" label="Remove this write key" onClick={() => setLeaving(key)} />
            )}
          </li>
        ))}
      </ul>
      {add.isError && <Failure error={add.error} />}
      <Confirm
        open={leaving !== undefined}
        title="Remove this write key?"
        action="Remove key"
        busy={remove.isPending}
        error={remove.error}
        onClose={() => setLeaving(undefined)}
        onConfirm={() => leaving !== undefined && remove.mutate(leaving)}
      >
        Clients that still use <code>{leaving}</code> are answered 401 from now on, and their messages are
        lost unless they retry with another key.
      </Confirm>
    </Card>
  );
}

function Connections({ sourceId }: { sourceId: string }) {
  const destinations = useDestinations().data?.filter((one) => one.sourceIds.includes(sourceId));
  return (
    <Card title="Goes to" note="Destinations that get every message of this source">
      {destinations === undefined ? (
        <Skeleton lines={2} />
      ) : destinations.length === 0 ? (
        <div className="stack-tight">
          <p className="soft">Nowhere yet: its messages are stored and can be looked at.</p>
          <div>
            <ButtonLink size="small" icon="webhook" href={addresses.connect("webhooks")}>
              Connect a webhook
            </ButtonLink>
          </div>
        </div>
      ) : (
        <ul className="lines">
          {destinations.map((one) => (
            <li key={one.id}>
              <Icon name="destinations" />
              <Link className="grow" href={addresses.destination(one.id)}>
                {one.name}
              </Link>
              <Badge tone={one.enabled ? "good" : "quiet"}>{one.enabled ? "Enabled" : "Disabled"}</Badge>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function BlockedEvents({ source }: { source: SourceView }) {
  const api = useApi();
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const save = useMutation({
    mutationFn: (blockedEvents: readonly string[]) =>
      api.sources.patch(source.id, { blockedEvents, version: source.version }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["sources"] }),
  });
  const add = (event: FormEvent) => {
    event.preventDefault();
    const wanted = name.trim();
    if (wanted === "" || source.blockedEvents.includes(wanted)) return;
    save.mutate([...source.blockedEvents, wanted], { onSuccess: () => setName("") });
  };
  return (
    <Card
      title="Blocked events"
      note="Track events of these names are stored and counted, and go to no destination"
    >
      <div className="stack">
        {source.blockedEvents.length > 0 && (
          <ul className="chips">
            {source.blockedEvents.map((event) => (
              <li key={event} className="chip">
                {event}
                <IconButton
                  icon="close"
                  label={`Let ${event} through again`}
                  onClick={() => save.mutate(source.blockedEvents.filter((one) => one !== event))}
                />
              </li>
            ))}
          </ul>
        )}
        <form className="row inline-form" onSubmit={add}>
          <TextField
            label="Event to block"
            hideLabel
            placeholder="Name of a track event"
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <Button type="submit" busy={save.isPending}>
            Block
          </Button>
        </form>
        {save.isError && <Failure error={save.error} />}
      </div>
    </Card>
  );
}

/** What the form edits of a source. */
const EDITED = {
  draftOf: (source: SourceView | undefined) => ({
    name: source?.name ?? "",
    limit: source?.rateLimit === undefined ? "" : String(source.rateLimit),
    identity: source?.identity ?? "none",
  }),
  partsOf: ({ name, rateLimit, identity }: SourceView) => ({
    "the name": name,
    "the rate limit": rateLimit,
    "which ids it joins": identity,
  }),
};

function SourceSettings({ source }: { source: SourceView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const { draft, change, version, theirs, begin } = useDraft(source, EDITED);
  const { name, limit, identity } = draft;
  const rateLimit = limit.trim() === "" ? null : Number(limit);
  const isChanged =
    name.trim() !== source.name || rateLimit !== (source.rateLimit ?? null) || identity !== source.identity;
  const save = useMutation({
    mutationFn: (upon: number | undefined) =>
      api.sources.patch(source.id, {
        name: name.trim(),
        rateLimit,
        ...(identity === source.identity ? {} : { identity }),
        ...(upon === undefined ? {} : { version: upon }),
      }),
    onSuccess: (saved) => {
      begin(saved);
      notify("Saved");
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["sources"] }),
  });
  const issues = issuesOf(save.error);
  return (
    <Card title="Settings">
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(version);
        }}
      >
        <div className="field-grid">
          <TextField
            label="Name"
            maxLength={200}
            error={name.trim() === "" ? "It needs a name." : issueAt(issues, "name")}
            value={name}
            onChange={(event) => change({ name: event.target.value })}
          />
          <TextField
            label="Rate limit"
            optional
            type="number"
            min={0}
            step="any"
            placeholder="no limit of its own"
            hint="Messages a second. What is above is answered 429, and SDKs send it again later."
            error={issueAt(issues, "rateLimit")}
            value={limit}
            onChange={(event) => change({ limit: event.target.value })}
          />
          <SelectField
            label="Joining ids"
            hint={SOURCE_IDENTITIES[identity].hint}
            error={issueAt(issues, "identity")}
            options={Object.entries(SOURCE_IDENTITIES).map(([value, { label }]) => [value, label])}
            value={identity}
            onChange={(event) => change({ identity: event.target.value as SourceView["identity"] })}
          />
        </div>
        <DraftConflict save={save} theirs={theirs} begin={begin} />
        <div>
          <Button
            look="primary"
            type="submit"
            busy={save.isPending}
            disabled={!isChanged || name.trim() === ""}
          >
            Save
          </Button>
        </div>
      </form>
    </Card>
  );
}

function Removal({ source }: { source: SourceView }) {
  const api = useApi();
  return (
    <DeleteCard
      text="Its write keys stop working at once. Messages that it sent stay until retention drops them."
      name={source.name}
      action="Delete source"
      remove={() => api.sources.delete(source.id)}
      resource="sources"
      then={addresses.sources()}
    />
  );
}
