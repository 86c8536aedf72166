import type { NotificationView } from "@sluice/control-api";
import { useQuery } from "@tanstack/react-query";
import { useApi } from "../../../api/api-context.js";
import { Badge } from "../../../ui/data/badge.js";
import { Table } from "../../../ui/data/table.js";
import { Time } from "../../../ui/data/time.js";
import { visibleText } from "../../../words/visible-text.js";
import { CHANNEL_WORDS } from "./notification-words.js";

const SHOWN = 10;
const REFRESH_MS = 10_000;

/** The last notifications, and what became of them. */
export function RecentNotifications() {
  const api = useApi();
  const items = useQuery({
    queryKey: ["notifications", "list"],
    queryFn: async () => (await api.notifications.list({ limit: SHOWN })).items,
    refetchInterval: REFRESH_MS,
  }).data;
  if (items === undefined || items.length === 0) return null;
  return (
    <Table
      label={`The last ${SHOWN} notifications, newest first`}
      items={items}
      keyOf={({ id }) => id}
      columns={[
        { head: "Notification", lead: true, cell: ({ title }) => visibleText(title, 160) },
        { head: "Sent", cell: (item) => <Channels notification={item} /> },
        { head: "At", align: "end", cell: ({ at }) => <Time at={at} /> },
      ]}
    />
  );
}

const TONES = { sent: "good", pending: "wait", failed: "bad" } as const;
const STATES = { sent: "sent", pending: "waiting", failed: "failed" } as const;

function Channels({ notification }: { notification: NotificationView }) {
  return (
    <div className="stack-tight">
      {notification.channels.map(({ channel, state, lastError, nextAttemptAt }) => (
        <div key={channel}>
          <Badge tone={TONES[state]}>
            {CHANNEL_WORDS[channel]} {STATES[state]}
          </Badge>
          {state !== "sent" && lastError !== undefined && (
            <p className="small soft">
              {visibleText(lastError, 200)}
              {nextAttemptAt && (
                <>
                  . Next attempt <Time at={nextAttemptAt} />
                </>
              )}
            </p>
          )}
        </div>
      ))}
    </div>
  );
}
