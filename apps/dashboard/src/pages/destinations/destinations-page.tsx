import { useActivity, useDestinations, useNames } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { LastAt } from "../../ui/data/time.js";
import { ListCard } from "../../ui/layout/list-card.js";
import { Page } from "../../ui/layout/page.js";
import { rateText, successText } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";
import { DestinationTable } from "./destination-table.js";
import { NoDestinations } from "./no-destinations.js";

export function DestinationsPage() {
  const destinations = useDestinations();
  const names = useNames();
  const activity = useActivity().data;
  const activityOf = (id: string) => activity?.destinations.find(({ destinationId }) => destinationId === id);
  return (
    <Page
      title="Destinations"
      lead="Where messages are sent. Each destination has its own queue, so one that is down does not delay the others. Rate and success are of the last hour; a failed attempt that is retried counts as failed."
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
      <ListCard query={destinations} empty={<NoDestinations />}>
        {(items) => (
          <DestinationTable
            destinations={items}
            more={[
              { head: "URL", wide: true, cell: (one) => <FirstUrl settings={one.settings} /> },
              {
                head: "Sources",
                wide: true,
                cell: (one) => one.sourceIds.map(names.source).join(", ") || "None",
              },
              {
                head: "Rate",
                align: "end",
                cell: ({ id }) => rateText(activityOf(id)?.delivered, activity?.overMs),
              },
              {
                head: "Success",
                align: "end",
                cell: ({ id }) => (activity === undefined ? "…" : successText(activityOf(id))),
              },
              {
                head: "Last delivery",
                align: "end",
                cell: ({ id }) =>
                  activity === undefined ? "…" : <LastAt at={activityOf(id)?.lastDeliveryAt} />,
              },
            ]}
          />
        )}
      </ListCard>
    </Page>
  );
}

/** The first URL, and how many more there are; a dash for types without URLs. */
function FirstUrl({ settings }: { settings: object }) {
  const { webhooks } = settings as { readonly webhooks?: unknown };
  const urls = (Array.isArray(webhooks) ? webhooks : []).flatMap((one: { readonly url?: unknown } | null) =>
    typeof one?.url === "string" ? [one.url] : [],
  );
  const [first, ...others] = urls;
  if (first === undefined) return <>–</>;
  return (
    <span className="mono small" title={urls.map((url) => visibleText(url)).join("\n")}>
      {visibleText(first.replace(/^https?:\/\//, ""), 36)}
      {others.length > 0 && ` and ${others.length} more`}
    </span>
  );
}
