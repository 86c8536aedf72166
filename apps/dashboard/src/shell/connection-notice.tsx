import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useSyncExternalStore } from "react";
import { useApi } from "../api/api-context.js";
import { clockSkewMs } from "../api/collector-clock.js";
import { Time } from "../ui/data/time.js";
import { useNotify } from "../ui/feedback/notice.js";
import { Icon } from "../ui/icon.js";

/** How often the page tries to reach the collector again. */
const PROBE_MS = 1_000;

/** Shown while the collector cannot be reached. Retries until it answers, then reloads all data. */
export function ConnectionNotice() {
  const { connection, info } = useApi();
  const queries = useQueryClient();
  const notify = useNotify();
  const state = useSyncExternalStore(connection.watch, connection.get);
  const wasLost = useRef(false);
  useQuery({
    queryKey: ["probe"],
    queryFn: info,
    enabled: state.kind === "lost",
    refetchInterval: PROBE_MS,
    retry: false,
    gcTime: 0,
  });
  useEffect(() => {
    if (wasLost.current && state.kind === "answers") {
      notify("Connected to the collector again");
      void queries.invalidateQueries();
    }
    wasLost.current = state.kind === "lost";
  }, [state.kind, queries, notify]);
  if (state.kind === "answers") return null;
  return (
    <div className="connection-notice" role="alert">
      <Icon name="alert" />
      <p>
        The collector cannot be reached (since{" "}
        <Time at={new Date(state.sinceMs + clockSkewMs()).toISOString()} />
        ). The page shows the last known data and retries every second.
      </p>
    </div>
  );
}
