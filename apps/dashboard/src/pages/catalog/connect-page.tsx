import type { CatalogEntryView, DestinationInput, SourceView } from "@sluice/control-api";
import { RETRY_WINDOW } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import { useApi } from "../../api/api-context.js";
import { useCatalog, useDestinations, useSources } from "../../api/queries.js";
import { durationDraft, durationMs } from "../../forms/duration/duration-draft.js";
import { addresses } from "../../routing/addresses.js";
import { useAddressQuery } from "../../routing/dashboard-router.js";
import { Button, ButtonLink } from "../../ui/controls/button.js";
import { Checkbox } from "../../ui/controls/field.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card, Page } from "../../ui/layout/page.js";
import { isDestinationField, isShownAtFields, issuesOf } from "../../words/issues.js";
import { catalogWords } from "../destinations/catalog-words.js";
import { NameField } from "../destinations/settings/name-field.js";
import { NOTIFY_AFTER_MS, NotifyField } from "../destinations/settings/notify-field.js";
import { RetryField } from "../destinations/settings/retry-field.js";
import { emptyDraft, settingsOf } from "../destinations/settings/settings-draft.js";
import { SettingsForm } from "../destinations/settings/settings-form.js";
import { SourceChoice } from "../destinations/settings/source-choice.js";

/** A new destination has no settings yet. */
const NOTHING = {};

/** Creates a destination of one type. Saving an enabled one sends a test. */
export function ConnectPage({ type }: { type: string }) {
  const catalog = useCatalog();
  const sources = useSources();
  const destinations = useDestinations();
  const entry = catalog.data?.items.find((one) => one.type === type);
  const up = { href: addresses.catalog(), label: "Catalog" };
  const failed = [catalog, sources, destinations].find((query) => query.isError);
  if (failed !== undefined) {
    return (
      <Page title="Connect" up={up}>
        <Failure error={failed.error} onRetry={() => void failed.refetch()} />
      </Page>
    );
  }
  if (catalog.isPending || sources.data === undefined || destinations.data === undefined) {
    return (
      <Page title="Connect" up={up}>
        <Card>
          <Skeleton />
        </Card>
      </Page>
    );
  }
  if (entry === undefined) {
    return (
      <Page title="Connect" up={up}>
        <EmptyState
          icon="question"
          title="Unknown destination type"
          action={<ButtonLink href={addresses.catalog()}>Open the catalog</ButtonLink>}
        />
      </Page>
    );
  }
  const names = new Set(destinations.data.map((one) => one.name));
  return (
    <Page title={`Connect ${entry.name}`} lead={catalogWords(entry).lead} up={up}>
      <ConnectForm entry={entry} sources={sources.data} suggestedName={freeName(entry.name, names)} />
    </Page>
  );
}

function ConnectForm({
  entry,
  sources,
  suggestedName,
}: {
  entry: CatalogEntryView;
  sources: readonly SourceView[];
  suggestedName: string;
}) {
  const source = useAddressQuery().get("source");
  const [name, setName] = useState(suggestedName);
  const [draft, setDraft] = useState(emptyDraft);
  const [enabled, setEnabled] = useState(true);
  const [retryFor, setRetryFor] = useState(() => durationDraft(RETRY_WINDOW.defaultMs));
  const [notifyAfter, setNotifyAfter] = useState(() => durationDraft(NOTIFY_AFTER_MS, "minutes"));
  const [chosen, setChosen] = useState(() => (source === null ? preselected(entry, sources) : [source]));
  const connect = useConnect({
    type: entry.type,
    name: name.trim(),
    sourceIds: chosen,
    settings: settingsOf(draft, entry.settingsSchema),
    retryForMs: durationMs(retryFor) ?? RETRY_WINDOW.defaultMs,
    notifyAfterMs: durationMs(notifyAfter) ?? NOTIFY_AFTER_MS,
    enabled,
  });
  const issues = issuesOf(connect.error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    connect.mutate();
  };
  return (
    <form className="form" onSubmit={submit} noValidate>
      <Card>
        <div className="stack-wide">
          <SettingsForm
            schema={entry.settingsSchema}
            draft={draft}
            issues={issues}
            stored={NOTHING}
            onChange={setDraft}
          />
          <SourceChoice sources={sources} kinds={entry.sources} chosen={chosen} onChange={setChosen} />
          <RetryField value={retryFor} issues={issues} onChange={setRetryFor} />
          <NotifyField value={notifyAfter} issues={issues} onChange={setNotifyAfter} />
          <NameField value={name} issues={issues} onChange={setName} />
          <Checkbox
            label="Enabled"
            hint="A disabled destination skips new messages; it does not queue them."
            checked={enabled}
            onChange={setEnabled}
          />
        </div>
      </Card>
      {connect.isError && !isShownAtFields(connect.error, isDestinationField) && (
        <Failure error={connect.error} />
      )}
      <div className="row">
        <Button look="primary" type="submit" busy={connect.isPending}>
          {enabled ? "Connect and send a test" : "Connect"}
        </Button>
        <ButtonLink look="quiet" href={addresses.catalog()}>
          Cancel
        </ButtonLink>
      </div>
    </form>
  );
}

/** Creates the destination and opens its page, which sends a test if it is enabled. */
function useConnect(input: DestinationInput) {
  const api = useApi();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  return useMutation({
    mutationFn: () => api.destinations.create(input),
    onSuccess: async ({ id, enabled }) => {
      await queries.invalidateQueries({ queryKey: ["destinations"] });
      navigate(addresses.destination(id, enabled ? { test: "now" } : {}));
    },
  });
}

/** All supported sources if there are only a few of them. */
function preselected(entry: CatalogEntryView, sources: readonly SourceView[]): readonly string[] {
  const supported = sources.filter((source) => entry.sources.includes(source.kind));
  return supported.length <= 3 ? supported.map(({ id }) => id) : [];
}

/** The catalog's name, with the first free number if a destination has it already. */
function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  for (let number = 2; ; number++) if (!taken.has(`${name} ${number}`)) return `${name} ${number}`;
}
