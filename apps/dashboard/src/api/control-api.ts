import { type AdminClient, adminClient, type LiveItem, type LiveOptions } from "@sluice/admin-client";

/** What the pages ask of the collector: the control API, and its counters. */
export interface ControlApi extends AdminClient {
  /** The live stream; `onOpen` is called when the collector has answered, however long the first event takes. */
  live(options?: LiveOptions, onOpen?: () => void): AsyncGenerator<LiveItem>;
  /** The counters that Prometheus reads; they need no token. */
  metrics(): Promise<string>;
}

export function controlApi(token: string): ControlApi {
  const url = location.origin;
  return {
    ...adminClient({ url, token }),
    live: (options, onOpen = () => {}) =>
      adminClient({
        url,
        token,
        fetch: async (...request) => {
          const response = await fetch(...request);
          if (response.ok) onOpen();
          return response;
        },
      }).live(options),
    async metrics() {
      const response = await fetch("/metrics");
      if (!response.ok) throw new Error(`/metrics answered ${response.status}`);
      return response.text();
    },
  };
}
