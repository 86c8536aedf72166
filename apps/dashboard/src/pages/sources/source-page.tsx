import type { SourceView } from "@sluice/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../api/api-context.js";
import { useDestinations } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Link } from "../../routing/link.js";
import { useRouter } from "../../routing/router.js";
import { Badge } from "../../ui/badge.js";
import { Button, ButtonLink, IconButton } from "../../ui/button.js";
import { Confirm } from "../../ui/confirm.js";
import { CopyButton } from "../../ui/copy-button.js";
import { Failure } from "../../ui/failure.js";
import { TextField } from "../../ui/field.js";
import { Icon } from "../../ui/icon.js";
import { useNotify } from "../../ui/notice.js";
import { Card, Page } from "../../ui/page.js";
import { Skeleton } from "../../ui/skeleton.js";
import { Time } from "../../ui/time.js";
import { SnippetTabs } from "./snippet-tabs.js";
import { SOURCE_KINDS } from "./source-kinds.js";
import { UsageCard } from "./usage-card.js";

export function SourcePage({ id }: { id: string }) {
  const api = useApi();
  const source = useQuery({ queryKey: ["sources", id], queryFn: () => api.sources.get(id) });
  const up = { href: addresses.sources(), label: "Sources" };
  if (source.isError) {
    return (
      <Page title="Source" up={up}>
        <Failure error={source.error} onRetry={() => void source.refetch()} />
      </Page>
    );
  }
  if (source.isPending) {
    return (
      <Page title="Source" up={up}>
        <Card>
          <Skeleton />
        </Card>
      </Page>
    );
  }
  const { name, kind, writeKeys } = source.data;
  return (
    <Page
      title={name}
      up={up}
      badge={<Badge tone="quiet">{SOURCE_KINDS[kind].label}</Badge>}
      actions={
        <ButtonLink icon="live" href={addresses.live(`source:${id}`)}>
          Its messages
        </ButtonLink>
      }
    >
      <Card title="Send messages" note="With the newest write key of this source">
        <SnippetTabs writeKey={writeKeys.at(-1)?.key ?? "WRITE_KEY"} />
      </Card>
      <div className="two-columns">
        <WriteKeys source={source.data} />
        <Connections sourceId={id} />
      </div>
      <UsageCard sourceId={id} />
      <BlockedEvents source={source.data} />
      <SourceSettings source={source.data} />
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
        {source.writeKeys.map(({ key, createdAt }) => (
          <li key={key}>
            <code className="grow">{key}</code>
            <span className="small faint">
              <Time at={createdAt} />
            </span>
            <CopyButton text={key} label="Copy the write key" />
            {source.writeKeys.length > 1 && (
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

function SourceSettings({ source }: { source: SourceView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const { navigate } = useRouter();
  const [name, setName] = useState(source.name);
  const [isLeaving, setLeaving] = useState(false);
  const rename = useMutation({
    mutationFn: () => api.sources.patch(source.id, { name: name.trim(), version: source.version }),
    onSuccess: () => notify("Renamed"),
    onSettled: () => queries.invalidateQueries({ queryKey: ["sources"] }),
  });
  const remove = useMutation({
    mutationFn: () => api.sources.delete(source.id),
    onSuccess: async () => {
      navigate(addresses.sources());
      await queries.invalidateQueries({ queryKey: ["sources"] });
    },
  });
  return (
    <Card title="Name and removal">
      <div className="stack">
        <form
          className="row inline-form"
          onSubmit={(event) => {
            event.preventDefault();
            rename.mutate();
          }}
        >
          <TextField
            label="Name"
            hideLabel
            required
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <Button
            type="submit"
            busy={rename.isPending}
            disabled={name.trim() === source.name || name.trim() === ""}
          >
            Rename
          </Button>
        </form>
        {rename.isError && <Failure error={rename.error} />}
        <div>
          <Button look="quiet" icon="deletions" onClick={() => setLeaving(true)}>
            Delete this source
          </Button>
        </div>
      </div>
      <Confirm
        open={isLeaving}
        title={`Delete ${source.name}?`}
        action="Delete source"
        busy={remove.isPending}
        error={remove.error}
        onClose={() => setLeaving(false)}
        onConfirm={() => remove.mutate()}
      >
        Its write keys stop working at once. Messages that it sent stay until retention drops them.
      </Confirm>
    </Card>
  );
}
