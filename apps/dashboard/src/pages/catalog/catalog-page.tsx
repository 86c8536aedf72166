import type { CatalogEntryView, DestinationInput, SourceView } from "@sluice/control-api";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Link, useLocation } from "wouter";
import { useApi, useCatalog, useDestinations, useSources } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { useAddressQuery } from "../../routing/dashboard-router.js";
import { Button, ButtonLink } from "../../ui/controls/button.js";
import { Checkbox } from "../../ui/controls/field.js";
import { EmptyState, Failure, QueryView } from "../../ui/feedback.js";
import { Icon } from "../../ui/icon.js";
import { Card, Page, ResourcePage } from "../../ui/layout/page.js";
import { isDestinationField, isShownAtFields, issuesOf } from "../../words/errors.js";
import { visibleText } from "../../words/messages.js";
import { catalogWords } from "../destinations/catalog-words.js";
import {
  type DestinationDraft,
  DestinationFields,
  destinationDraft,
  destinationInput,
} from "../destinations/settings/destination-fields.js";
import { emptyDraft } from "../destinations/settings/settings-draft.js";
import { SOURCE_KINDS } from "../sources/source-link.js";

export function CatalogPage() {
  const catalog = useCatalog();
  return (
    <Page
      title="Catalog"
      lead="Destination types. Choose one to connect it to your sources."
      up={{ href: addresses.destinations(), label: "Destinations" }}
    >
      <QueryView query={catalog} canRetry>
        {({ items, unusable }) => (
          <>
            <ul className="tiles">
              {items.map((entry) => (
                <li key={entry.type}>
                  <CatalogTile entry={entry} />
                </li>
              ))}
            </ul>
            {unusable.length > 0 && (
              <Card title="Packages that cannot be used" note="Their destinations keep their messages">
                <ul className="lines">
                  {unusable.map((one) => (
                    <li key={one.package}>
                      <strong className="mono">{visibleText(one.package, 100)}</strong>
                      <span className="grow">{visibleText(one.message, 400)}</span>
                    </li>
                  ))}
                </ul>
              </Card>
            )}
          </>
        )}
      </QueryView>
    </Page>
  );
}

function CatalogTile({ entry }: { entry: CatalogEntryView }) {
  const words = catalogWords(entry);
  const source = useAddressQuery().get("source") ?? "";
  return (
    <Link className="tile" href={addresses.connect(entry.type, { source })}>
      <span className="tile-icon">
        <Icon name={words.icon} size={20} />
      </span>
      <strong>{entry.name}</strong>
      <span className="soft">{words.lead}</span>
      <span className="small faint">
        {entry.sources.map((kind) => SOURCE_KINDS[kind].label).join(", ")} sources ·{" "}
        {entry.historical ? "accepts historical messages" : "no historical messages"}
      </span>
    </Link>
  );
}

const UP = { href: addresses.catalog(), label: "Catalog" };

/** Creates a destination of one type. Saving an enabled one sends a test. */
export function ConnectPage({ type }: { type: string }) {
  const catalog = useCatalog();
  const sources = useSources();
  const destinations = useDestinations();
  const queries = [catalog, sources, destinations];
  const isLoaded = queries.every(({ data }) => data !== undefined);
  return (
    <ResourcePage
      kind="Connect"
      up={UP}
      query={{
        data: isLoaded ? { entry: catalog.data?.items.find((one) => one.type === type) } : undefined,
        error: queries.find(({ isError }) => isError)?.error,
        refetch: () => Promise.all(queries.map(({ refetch }) => refetch())),
      }}
    >
      {({ entry }) =>
        entry === undefined ? (
          <Page title="Connect" up={UP}>
            <EmptyState
              icon="question"
              title="Unknown destination type"
              action={<ButtonLink href={addresses.catalog()}>Open the catalog</ButtonLink>}
            />
          </Page>
        ) : (
          <Page title={`Connect ${entry.name}`} lead={catalogWords(entry).lead} up={UP}>
            <ConnectForm
              entry={entry}
              sources={sources.data ?? []}
              suggestedName={freeName(entry.name, new Set(destinations.data?.map(({ name }) => name)))}
            />
          </Page>
        )
      }
    </ResourcePage>
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
  const [draft, setDraft] = useState<DestinationDraft>(() => ({
    ...destinationDraft(undefined),
    name: suggestedName,
    sourceIds: source === null ? preselected(entry, sources) : [source],
    settings: emptyDraft(),
  }));
  const [enabled, setEnabled] = useState(true);
  const connect = useConnect({
    type: entry.type,
    ...destinationInput(draft, entry),
    ...(draft.transformationId === "" ? {} : { transformationId: draft.transformationId }),
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
          <DestinationFields
            entry={entry}
            draft={draft}
            issues={issues}
            onChange={(part) => setDraft({ ...draft, ...part })}
          />
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
