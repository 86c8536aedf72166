import type { DestinationView } from "@sluice/control-api";
import { useState } from "react";
import { useDestinations, useHealth, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { TextField } from "../../ui/controls/field.js";
import { EmptyState } from "../../ui/feedback.js";
import { ListCard, Page } from "../../ui/layout/page.js";
import { visibleText } from "../../words/messages.js";
import { DestinationTable, worstFirst } from "./destination-table.js";

/** Shown instead of the list of destinations. */
export function NoDestinations() {
  return (
    <EmptyState
      icon="destinations"
      title="No destinations yet"
      action={
        <>
          <ButtonLink look="primary" icon="webhook" href={addresses.connect("webhooks")}>
            Connect a webhook
          </ButtonLink>
          <ButtonLink href={addresses.catalog()}>Open the catalog</ButtonLink>
        </>
      }
    >
      <p>
        Messages are stored but not sent. To connect a webhook, you only need its URL: the guide to{" "}
        <a href={addresses.guide("guide/webhooks")}>receiving webhooks</a> has a receiver.
      </p>
    </EmptyState>
  );
}

/** Lists with fewer destinations need no filter. */
const FILTERED_FROM = 8;

export function DestinationsPage() {
  const destinations = useDestinations();
  // Rows must not change their places when their states arrive.
  const isOrdered = !useHealth().isPending;
  return (
    <Page
      title="Destinations"
      lead="The worst first. Rate and success are of the last hour; a failed attempt that is retried counts as failed."
      wide
      actions={
        <ButtonLink
          look={destinations.data?.length === 0 ? "plain" : "primary"}
          icon="plus"
          href={addresses.catalog()}
        >
          New destination
        </ButtonLink>
      }
    >
      <ListCard
        query={isOrdered ? destinations : { ...destinations, data: undefined }}
        empty={<NoDestinations />}
      >
        {(items) => <FilteredTable destinations={items} />}
      </ListCard>
    </Page>
  );
}

function FilteredTable({ destinations }: { destinations: readonly DestinationView[] }) {
  const statuses = useHealth().data?.destinations ?? [];
  const names = useNames();
  const [text, setText] = useState("");
  const sourcesOf = ({ sourceIds }: DestinationView) => sourceIds.map(names.source).join(", ") || "None";
  const found = destinations.filter((one) =>
    [one.name, one.type, sourcesOf(one), ...urlsOf(one)].some((field) =>
      field.toLowerCase().includes(text.trim().toLowerCase()),
    ),
  );
  return (
    <>
      {destinations.length >= FILTERED_FROM && (
        <div className="list-tools">
          <TextField
            label="Name, URL or source contains"
            hideLabel
            type="search"
            placeholder="Name, URL or source contains"
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <p className="small faint list-order" role="status">
            {found.length} of {destinations.length}
          </p>
        </div>
      )}
      <DestinationTable
        destinations={worstFirst(found, statuses)}
        more={[
          { head: "URL", wide: true, cell: (one) => <FirstUrl urls={urlsOf(one)} /> },
          ...(new Set(destinations.map(sourcesOf)).size > 1
            ? [
                {
                  head: "Sources",
                  wide: "very" as const,
                  fit: true,
                  cell: (one: DestinationView) => (
                    <span title={sourcesOf(one)}>{visibleText(sourcesOf(one), 24)}</span>
                  ),
                },
              ]
            : []),
        ]}
      />
    </>
  );
}

function urlsOf({ settings }: DestinationView): readonly string[] {
  const { webhooks } = settings as { readonly webhooks?: unknown };
  return (Array.isArray(webhooks) ? webhooks : []).flatMap((one: { readonly url?: unknown } | null) =>
    typeof one?.url === "string" ? [one.url] : [],
  );
}

/** The first URL, and how many more there are; a dash for types without URLs. */
function FirstUrl({ urls }: { urls: readonly string[] }) {
  const [first, ...others] = urls;
  if (first === undefined) return <>–</>;
  return (
    <span className="mono small" title={urls.map((url) => visibleText(url)).join("\n")}>
      {others.length > 0 && `${urls.length}: `}
      {visibleText(first.replace(/^https?:\/\//, ""), 200)}
    </span>
  );
}
