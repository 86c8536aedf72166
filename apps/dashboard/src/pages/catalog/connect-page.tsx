import type { CatalogEntryView, SourceView } from "@sluice/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import { useApi } from "../../api/api-context.js";
import { useCatalog, useDestinations, useSources } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { Button, ButtonLink } from "../../ui/controls/button.js";
import { Checkbox, TextField } from "../../ui/controls/field.js";
import { EmptyState } from "../../ui/feedback/empty-state.js";
import { Failure } from "../../ui/feedback/failure.js";
import { Skeleton } from "../../ui/feedback/skeleton.js";
import { Card, Page } from "../../ui/layout/page.js";
import { issueAt, issuesOf } from "../../words/issues.js";
import { schemaProperties } from "../destinations/settings/schema-fields.js";
import { emptyDraft, settingsOf } from "../destinations/settings/settings-draft.js";
import { SettingsForm } from "../destinations/settings/settings-form.js";
import { SourceChoice } from "../destinations/settings/source-choice.js";
import { catalogWords } from "./catalog-words.js";

/** A new destination of one type: where to, from which sources; saving it sends a test. */
export function ConnectPage({ type }: { type: string }) {
  const catalog = useCatalog();
  const sources = useSources();
  const destinations = useDestinations();
  const entry = catalog.data?.find((one) => one.type === type);
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
          title="The catalog has no such type"
          action={<ButtonLink href={addresses.catalog()}>Open the catalog</ButtonLink>}
        />
      </Page>
    );
  }
  const names = new Set(destinations.data.map((one) => one.name));
  return (
    <Page title={`Connect ${entry.name}`} lead={catalogWords(type).lead} up={up}>
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
  const api = useApi();
  const queries = useQueryClient();
  const [, navigate] = useLocation();
  const [name, setName] = useState(suggestedName);
  const [draft, setDraft] = useState(emptyDraft);
  const [enabled, setEnabled] = useState(true);
  const fitting = sources.filter((source) => entry.sources.includes(source.kind));
  const [chosen, setChosen] = useState<readonly string[]>(
    fitting.length <= 3 ? fitting.map(({ id }) => id) : [],
  );
  const properties = new Set(schemaProperties(entry.settingsSchema).map((one) => one.name));
  const connect = useMutation({
    mutationFn: () =>
      api.destinations.create({
        type: entry.type,
        name: name.trim(),
        sourceIds: chosen,
        settings: settingsOf(draft, properties),
        enabled,
      }),
    onSuccess: async (destination) => {
      await queries.invalidateQueries({ queryKey: ["destinations"] });
      navigate(`${addresses.destination(destination.id)}${enabled ? "?test=now" : ""}`);
    },
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
            hasSecret={false}
            onChange={setDraft}
          />
          <SourceChoice sources={sources} kinds={entry.sources} chosen={chosen} onChange={setChosen} />
          <TextField
            label="Name"
            hint={
              <>
                What messages call it in <code>integrations</code>, beside the catalog's name. Case counts.
              </>
            }
            error={issueAt(issues, "name")}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <Checkbox
            label="Enabled"
            hint="Off: it can be set up first. Messages that come meanwhile are skipped, not kept for it."
            checked={enabled}
            onChange={setEnabled}
          />
        </div>
      </Card>
      {connect.isError && <Failure error={connect.error} />}
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

/** The catalog's name, or with the first number that no destination has yet. */
function freeName(name: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  for (let number = 2; ; number++) if (!taken.has(`${name} ${number}`)) return `${name} ${number}`;
}
