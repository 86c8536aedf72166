import type { CatalogEntryView, DestinationView } from "@sluice/protocol";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { FormEvent } from "react";
import { useApi } from "../../api/api-context.js";
import { useCatalog, useDestinationStatus, useSources, useTotals } from "../../api/queries.js";
import { DraftConflict } from "../../forms/edit-conflict.js";
import { useDraft } from "../../forms/use-draft.js";
import { addresses } from "../../routing/addresses.js";
import { useAddressQuery } from "../../routing/dashboard-router.js";
import { Button } from "../../ui/controls/button.js";
import { Switch, TextField } from "../../ui/controls/field.js";
import { Badge } from "../../ui/data/badge.js";
import { Stat } from "../../ui/data/stat.js";
import { Time } from "../../ui/data/time.js";
import { useNotify } from "../../ui/feedback/notice.js";
import { DeleteCard } from "../../ui/layout/delete-card.js";
import { Card, Page } from "../../ui/layout/page.js";
import { ResourcePage } from "../../ui/layout/resource-page.js";
import { backlogNote } from "../../words/backlog.js";
import { HEALTH } from "../../words/health.js";
import { issueAt, issuesOf } from "../../words/issues.js";
import { count } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";
import { catalogWords } from "../catalog/catalog-words.js";
import { RecentDeliveries } from "../deliveries/recent-deliveries.js";
import { FilterRules } from "./filters/filter-rules.js";
import { DestinationHealth } from "./health/destination-health.js";
import { HealthAlert } from "./health/health-alert.js";
import { schemaProperties } from "./settings/schema-fields.js";
import { draftOf, settingsOf } from "./settings/settings-draft.js";
import { SettingsForm } from "./settings/settings-form.js";
import { SourceChoice } from "./settings/source-choice.js";
import { TestSend } from "./test-send.js";

/** How often a page looks whether somebody else changed what its forms show. */
const CHANGES_MS = 5_000;

const UP = { href: addresses.destinations(), label: "Destinations" };

const NAME_HINT = (
  <>
    What messages call it in <code>integrations</code>, beside the catalog's name. Case counts.
  </>
);

export function DestinationPage({ id }: { id: string }) {
  const api = useApi();
  const catalog = useCatalog();
  const destination = useQuery({
    queryKey: ["destinations", id],
    queryFn: () => api.destinations.get(id),
    refetchInterval: CHANGES_MS,
  });
  const entry = catalog.data?.find((one) => one.type === destination.data?.type);
  const both = destination.data && entry && { destination: destination.data, entry };
  return (
    <ResourcePage
      kind="Destination"
      up={UP}
      query={{
        data: both,
        error: destination.error ?? catalog.error,
        refetch: destination.refetch,
      }}
    >
      {(found) => <DestinationBody {...found} />}
    </ResourcePage>
  );
}

function DestinationBody({ destination, entry }: { destination: DestinationView; entry: CatalogEntryView }) {
  const query = useAddressQuery();
  const { id } = destination;
  const status = useDestinationStatus(id).data;
  return (
    <Page
      title={destination.name}
      up={UP}
      badge={
        <>
          <Badge tone="quiet">{entry.name}</Badge>
          <DestinationHealth id={id} />
        </>
      }
      actions={<EnabledSwitch destination={destination} />}
    >
      {status && <HealthAlert destination={destination} status={status} />}
      <Status id={id} />
      <TestSend id={id} atOnce={query.get("test") === "now"} />
      <RecentDeliveries destinationId={id} />
      <EditSettings destination={destination} entry={entry} />
      <FilterRules destination={destination} />
      <Removal destination={destination} />
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
  const totals = useTotals().data;
  const countOf = (state: string) => totals && count(totals.deliveries.get(id)?.get(state) ?? 0);
  return (
    <div className="stats">
      <Stat label="Waiting" value={data && count(data.waiting)} note={data && `now: ${backlogNote(data)}`} />
      <Stat label="Delivered" value={countOf("delivered")} note="since the collector's start" />
      <Stat label="Failed" value={countOf("failed")} note="given up, since the collector's start" />
      <Stat
        label="Now"
        value={data && HEALTH[data.health].label}
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

/** What the form edits of a destination. */
const EDITED = {
  draftOf: (destination: DestinationView | undefined) => ({
    name: destination?.name ?? "",
    sourceIds: destination?.sourceIds ?? [],
    settings: draftOf(destination?.settings ?? {}),
  }),
  partsOf: ({ name, sourceIds, settings }: DestinationView) => ({
    "the name": name,
    "its sources": sourceIds,
    "its settings": settings,
  }),
};

function EditSettings({ destination, entry }: { destination: DestinationView; entry: CatalogEntryView }) {
  const api = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const sources = useSources().data ?? [];
  const { draft, change, version, theirs, begin } = useDraft(destination, EDITED);
  const properties = new Set(schemaProperties(entry.settingsSchema).map((one) => one.name));
  const save = useMutation({
    mutationFn: (upon: number | undefined) =>
      api.destinations.patch(destination.id, {
        name: draft.name.trim(),
        sourceIds: draft.sourceIds,
        settings: settingsOf(draft.settings, properties),
        ...(upon === undefined ? {} : { version: upon }),
      }),
    onSuccess: (saved) => {
      begin(saved);
      notify("Saved");
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ["destinations"] }),
  });
  const issues = issuesOf(save.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(version);
  };
  return (
    <Card title="Settings" note={catalogWords(destination.type).lead}>
      <form className="stack-wide" onSubmit={submit} noValidate>
        <SettingsForm
          schema={entry.settingsSchema}
          draft={draft.settings}
          issues={issues}
          hasSecret={destination.settings.sharedSecretSet === true}
          onChange={(settings) => change({ settings })}
        />
        <SourceChoice
          sources={sources}
          kinds={entry.sources}
          chosen={draft.sourceIds}
          onChange={(sourceIds) => change({ sourceIds })}
        />
        <TextField
          label="Name"
          hint={NAME_HINT}
          error={issueAt(issues, "name")}
          value={draft.name}
          onChange={(event) => change({ name: event.target.value })}
        />
        <DraftConflict save={save} theirs={theirs} begin={begin} />
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
  return (
    <DeleteCard
      text="Messages that wait for it are not sent any more, and its attempts and outcomes are forgotten. The messages themselves stay. Disabling it keeps what is queued."
      name={destination.name}
      action="Delete destination"
      remove={() => api.destinations.delete(destination.id)}
      resource="destinations"
      then={addresses.destinations()}
    />
  );
}
