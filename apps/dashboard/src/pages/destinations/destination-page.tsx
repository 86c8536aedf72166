import type { CatalogEntryView, DestinationView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { useLocation } from "wouter";
import { useApi, useCatalog, useDestinationStatus } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { useAddressQuery } from "../../routing/dashboard-router.js";
import { Badge } from "../../ui/data/facts.js";
import { EmptyState } from "../../ui/feedback.js";
import { DeleteCard, Page, ResourcePage } from "../../ui/layout/page.js";
import { Tabs } from "../../ui/layout/tabs.js";
import { GroupsCard } from "../deliveries/groups-card.js";
import { RecentDeliveries } from "../deliveries/recent-deliveries.js";
import { RecoverCard } from "../deliveries/recover-card.js";
import { EnabledSwitch } from "./enabled-switch.js";
import { FilterRules } from "./filters/filter-rules.js";
import { DestinationActivity } from "./health/destination-activity.js";
import { DestinationHealth } from "./health/destination-health.js";
import { HealthAlert } from "./health/health-alert.js";
import { SettingsCard } from "./settings/settings-card.js";
import { TestButton, TestResult, useTestSend } from "./test-send.js";

/** How often the page checks whether someone else changed the destination. */
const CHANGES_MS = 5_000;

const UP = { href: addresses.destinations(), label: "Destinations" };

export function DestinationPage({ id }: { id: string }) {
  const api = useApi();
  const catalog = useCatalog();
  const destination = useQuery({
    queryKey: ["destinations", id],
    queryFn: () => api.destinations.get(id),
    refetchInterval: CHANGES_MS,
  });
  const both = destination.data &&
    catalog.data && {
      destination: destination.data,
      entry: catalog.data.items.find(({ type }) => type === destination.data.type),
    };
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

interface Found {
  readonly destination: DestinationView;
  /** Undefined: the package of this type is not used any more. */
  readonly entry: CatalogEntryView | undefined;
}

function DestinationBody({ destination, entry }: Found) {
  const query = useAddressQuery();
  const [, navigate] = useLocation();
  const { id, name } = destination;
  const status = useDestinationStatus(id).data;
  const testing = useTestSend({ id, startNow: query.get("test") === "now" });
  return (
    <Page
      title={name}
      up={UP}
      badge={
        <>
          <Badge tone="quiet">{entry?.name ?? destination.type}</Badge>
          <DestinationHealth id={id} />
        </>
      }
      actions={
        <>
          <TestButton {...testing} />
          <EnabledSwitch destination={destination} />
        </>
      }
    >
      {status && <HealthAlert destination={destination} status={status} />}
      <TestResult {...testing} />
      <div>
        <Tabs
          label="About this destination"
          prefix="about"
          selected={query.get("tab") ?? "activity"}
          onSelect={(tab) => navigate(addresses.destination(id, { tab }), { replace: true })}
          tabs={[
            { id: "activity", label: "Activity", content: <DestinationActivity key={id} id={id} /> },
            { id: "failures", label: "Failures", content: <Failures destination={destination} /> },
            {
              id: "settings",
              label: "Settings",
              keeps: true,
              content: (
                <Settings destination={destination} entry={entry} field={query.get("field") ?? undefined} />
              ),
            },
          ]}
        />
      </div>
    </Page>
  );
}

function Failures({ destination: { id } }: { destination: DestinationView }) {
  return (
    <div className="sections">
      <GroupsCard destinationId={id} />
      <RecoverCard destinationId={id} />
      <RecentDeliveries destinationId={id} />
    </div>
  );
}

function Settings({ destination, entry, field }: Found & { field: string | undefined }) {
  const api = useApi();
  const { id, name } = destination;
  return (
    <div className="sections">
      {entry === undefined ? (
        <EmptyState icon="question" title={`The collector has no destination type ${destination.type}.`}>
          <p>Its messages are kept. Name its package in the setting “destinations”, and restart.</p>
        </EmptyState>
      ) : (
        <SettingsCard destination={destination} entry={entry} field={field} />
      )}
      <FilterRules destination={destination} />
      <DeleteCard
        text="Deletes the destination with its backlog, attempts and delivery states. The messages stay stored. To keep the backlog, disable the destination instead."
        name={name}
        action="Delete destination"
        remove={() => api.destinations.delete(id)}
        resource="destinations"
        then={addresses.destinations()}
      />
    </div>
  );
}
