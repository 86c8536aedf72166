import type { DeliveryView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/queries.js";
import { addresses } from "../../routing/addresses.js";
import { ButtonLink } from "../../ui/controls/button.js";
import { Failure, QueryView, Skeleton } from "../../ui/feedback.js";
import { Card } from "../../ui/layout/page.js";
import { AttemptsDialog } from "./attempts.js";
import { DeliveryTable } from "./delivery-table.js";
import { useRetry } from "./retry-button.js";

/** The newest failed and pending deliveries of one destination. */
export function RecentDeliveries({ destinationId }: { destinationId: string }) {
  const api = useApi();
  const retry = useRetry();
  const [opened, setOpened] = useState<DeliveryView | undefined>();
  const deliveries = useQuery({
    queryKey: ["deliveries", "recent", destinationId],
    queryFn: async () => (await api.deliveries.list({ destinationId, limit: 8 })).items,
    refetchInterval: 2_000,
  });
  return (
    <Card
      title="Failed and pending"
      note="The eight newest, newest first"
      flush
      actions={
        <ButtonLink size="small" href={addresses.deliveries({ destination: destinationId })}>
          All deliveries
        </ButtonLink>
      }
    >
      <QueryView query={deliveries} skeleton={<Skeleton lines={2} />}>
        {(items) =>
          items.length === 0 ? (
            <p className="soft card-text">No failed or pending deliveries.</p>
          ) : (
            <DeliveryTable
              ofOneDestination
              deliveries={items}
              onRetry={(one) => retry.mutate([one.id])}
              onOpen={setOpened}
            />
          )
        }
      </QueryView>
      {retry.isError && <Failure error={retry.error} />}
      <AttemptsDialog delivery={opened} onClose={() => setOpened(undefined)} />
    </Card>
  );
}
