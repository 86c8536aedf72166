import type { CatalogEntryView, DestinationView } from "@sluice/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useApi } from "../../api/api-context.js";
import { useCatalog, useDestinationStatus, useSources } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { useRouter } from "../../routing/router.js";
import { Badge } from "../../ui/badge.js";
import { Button, ButtonLink } from "../../ui/button.js";
import { Confirm } from "../../ui/confirm.js";
import { Failure } from "../../ui/failure.js";
import { Switch, TextField } from "../../ui/field.js";
import { useNotify } from "../../ui/notice.js";
import { Card, Page } from "../../ui/page.js";
import { Skeleton } from "../../ui/skeleton.js";
import { Time } from "../../ui/time.js";
import { count } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";
import { catalogWords } from "../catalog/catalog-words.js";
import { RecentDeliveries } from "../deliveries/recent-deliveries.js";
import { DestinationHealth, HEALTH } from "./destination-health.js";
import { FilterRules } from "./filter-rules.js";
import { schemaProperties } from "./schema-fields.js";
import { draftOf, issueAt, issuesOf, settingsOf } from "./settings-draft.js";
import { SettingsForm } from "./settings-form.js";
import { SourceChoice } from "./source-choice.js";
import { TestSend } from "./test-send.js";

const NAME_HINT = (
  <>
    What messages call it in <code>integrations</code>, beside the catalog's name. Case counts.
  </>
);

export function DestinationPage({ id }: { id: string }) {
  const api = useApi();
  const { address } = useRouter();
  const catalog = useCatalog();
  const destination = useQuery({ queryKey: ["destinations", id], queryFn: () => api.destinations.get(id) });
  const up = { href: addresses.destinations(), label: "Destinations" };
  const failed = [destination, catalog].find((query) => query.isError);
  if (failed !== undefined) {
    return (
      <Page title="Destination" up={up}>
        <Failure error={failed.error} onRetry={() => void failed.refetch()} />
      </Page>
    );
  }
  const entry = catalog.data?.find((one) => one.type === destination.data?.type);
  if (destination.data === undefined || entry === undefined) {
    return (
      <Page title="Destination" up={up}>
        <Card>
          <Skeleton />
        </Card>
      </Page>
    );
  }
  return (
    <Page
      title={destination.data.name}
      up={up}
      badge={
        <>
          <Badge tone="quiet">{entry.name}</Badge>
          <DestinationHealth id={id} />
        </>
      }
      actions={<EnabledSwitch destination={destination.data} />}
    >
      <Status id={id} />
      <TestSend id={id} atOnce={address.query.get("test") === "now"} />
      <RecentDeliveries destinationId={id} />
      <EditSettings key={destination.data.version} destination={destination.data} entry={entry} />
      <FilterRules destination={destination.data} />
      <Removal destination={destination.data} />
    </Page>
  );
}

function EnabledSwitch({ destination }: { destination: DestinationView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const change = useMutation({
    mutationFn: (enabled: boolean) =>
      api.destinations.patch(destination.id, { enabled, version: destination.version }),
    onSuccess: ({ enabled }) =>
      notify(enabled ? "Enabled: what was queued goes on" : "Disabled: nothing new is kept for it"),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["destinations"] }),
        queries.invalidateQueries({ queryKey: ["destination-status", destination.id] }),
      ]),
  });
  return (
    <Switch
      label={destination.enabled ? "Enabled" : "Disabled"}
      checked={destination.enabled}
      disabled={change.isPending}
      onChange={(enabled) => change.mutate(enabled)}
    />
  );
}

function Status({ id }: { id: string }) {
  const { data } = useDestinationStatus(id);
  return (
    <div className="stats">
      <Stat label="Behind" value={data && count(data.behind)} note="messages it has not come to yet, now" />
      <Stat
        label="To be tried again"
        value={data && count(data.retries)}
        note="messages that failed and wait, now"
      />
      <Stat
        label="Now"
        value={data && HEALTH[data.state].label}
        note={
          data?.nextAttemptAt === undefined ? (
            visibleText(data?.lastError ?? "no error that still stands", 160)
          ) : (
            <>
              next attempt <Time at={data.nextAttemptAt} />: {visibleText(data.lastError ?? "", 120)}
            </>
          )
        }
      />
    </div>
  );
}

function Stat({ label, value, note }: { label: string; value: React.ReactNode; note: React.ReactNode }) {
  return (
    <div className="stat">
      <span className="stat-label">{label}</span>
      <span className="stat-value">{value ?? "…"}</span>
      <span className="stat-note">{note}</span>
    </div>
  );
}

function EditSettings({ destination, entry }: { destination: DestinationView; entry: CatalogEntryView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const sources = useSources().data ?? [];
  const [name, setName] = useState(destination.name);
  const [chosen, setChosen] = useState(destination.sourceIds);
  const [draft, setDraft] = useState(() => draftOf(destination.settings));
  const properties = new Set(schemaProperties(entry.settingsSchema).map((one) => one.name));
  const save = useMutation({
    mutationFn: () =>
      api.destinations.patch(destination.id, {
        name: name.trim(),
        sourceIds: chosen,
        settings: settingsOf(draft, properties),
        version: destination.version,
      }),
    onSuccess: async () => {
      notify("Saved");
      await queries.invalidateQueries({ queryKey: ["destinations"] });
    },
  });
  const issues = issuesOf(save.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Card title="Settings" note={catalogWords(destination.type).lead}>
      <form className="stack-wide" onSubmit={submit} noValidate>
        <SettingsForm
          schema={entry.settingsSchema}
          draft={draft}
          issues={issues}
          hasSecret={destination.settings.sharedSecretSet === true}
          onChange={setDraft}
        />
        <SourceChoice sources={sources} kinds={entry.sources} chosen={chosen} onChange={setChosen} />
        <TextField
          label="Name"
          hint={NAME_HINT}
          error={issueAt(issues, "name")}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        {save.isError && <Failure error={save.error} />}
        <div>
          <Button look="primary" type="submit" busy={save.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Card>
  );
}

function Removal({ destination }: { destination: DestinationView }) {
  const api = useApi();
  const queries = useQueryClient();
  const { navigate } = useRouter();
  const [isLeaving, setLeaving] = useState(false);
  const remove = useMutation({
    mutationFn: () => api.destinations.delete(destination.id),
    onSuccess: async () => {
      navigate(addresses.destinations());
      await queries.invalidateQueries({ queryKey: ["destinations"] });
    },
  });
  return (
    <Card title="Removal">
      <div className="row-apart">
        <p className="soft">Disabling keeps what is queued. Deleting forgets it, with all attempts.</p>
        <div className="row">
          <ButtonLink look="quiet" href={addresses.deliveries({ destination: destination.id })}>
            Its deliveries
          </ButtonLink>
          <Button look="quiet" icon="deletions" onClick={() => setLeaving(true)}>
            Delete
          </Button>
        </div>
      </div>
      <Confirm
        open={isLeaving}
        title={`Delete ${destination.name}?`}
        action="Delete destination"
        busy={remove.isPending}
        error={remove.error}
        onClose={() => setLeaving(false)}
        onConfirm={() => remove.mutate()}
      >
        Messages that wait for it are not sent any more, and its attempts and outcomes are forgotten. The
        messages themselves stay.
      </Confirm>
    </Card>
  );
}
