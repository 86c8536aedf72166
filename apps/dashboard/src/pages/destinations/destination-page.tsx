import type { CatalogEntryView, DestinationView } from "@sluice/control-api";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useApi } from "../../api/api-context.js";
import { HEALTH_KEY, useCatalog, useDestinationStatus, useTotals } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { useAddressQuery } from "../../routing/dashboard-router.js";
import { Switch } from "../../ui/controls/field.js";
import { Badge } from "../../ui/data/badge.js";
import { Stat } from "../../ui/data/stat.js";
import { Time } from "../../ui/data/time.js";
import { useNotify } from "../../ui/feedback/notice.js";
import { DeleteCard } from "../../ui/layout/delete-card.js";
import { Page } from "../../ui/layout/page.js";
import { ResourcePage } from "../../ui/layout/resource-page.js";
import { backlogNote } from "../../words/backlog.js";
import { healthWords, needsAttention } from "../../words/health.js";
import { count } from "../../words/numbers.js";
import { visibleText } from "../../words/visible-text.js";
import { RecentDeliveries } from "../deliveries/recent-deliveries.js";
import { FilterRules } from "./filters/filter-rules.js";
import { DestinationCharts } from "./health/destination-charts.js";
import { DestinationHealth } from "./health/destination-health.js";
import { HealthAlert } from "./health/health-alert.js";
import { SettingsCard } from "./settings/settings-card.js";
import { TestSend } from "./test-send.js";

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
  const api = useApi();
  const { id, name } = destination;
  const status = useDestinationStatus(id).data;
  return (
    <Page
      title={name}
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
      <DestinationCharts key={id} id={id} />
      <TestSend id={id} startNow={query.get("test") === "now"} />
      <RecentDeliveries destinationId={id} />
      <SettingsCard destination={destination} entry={entry} />
      <FilterRules destination={destination} />
      <DeleteCard
        text="Deletes the destination with its backlog, attempts and delivery states. The messages stay stored. To keep the backlog, disable the destination instead."
        name={name}
        action="Delete destination"
        remove={() => api.destinations.delete(id)}
        resource="destinations"
        then={addresses.destinations()}
      />
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
      notify(enabled ? "Enabled: sending the backlog" : "Disabled: new messages are skipped"),
    onSettled: () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["destinations"] }),
        queries.invalidateQueries({ queryKey: HEALTH_KEY }),
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
      <Stat label="Backlog" value={data && count(data.waiting)} note={data && `now: ${backlogNote(data)}`} />
      <Stat label="Delivered" value={countOf("delivered")} note="since the collector started" />
      <Stat label="Failed" value={countOf("failed")} note="since the collector started" />
      <Stat
        label="State"
        value={data && healthWords(data.health).label}
        note={
          data && (
            <>
              {/* The alert above says what is wrong. */}
              {!needsAttention(data.health) && visibleText(data.reason, 160)}
              {data.since && (
                <>
                  began <Time at={data.since} />
                </>
              )}
            </>
          )
        }
      />
    </div>
  );
}
