import { DESTINATIONS, type DestinationName, EVENTS_OF_MEMBERS } from "./ledger.ts";
import { SHARED_SECRET } from "./network/receiver.ts";

type CallApi = <T>(method: string, path: string, body?: object) => Promise<T>;

export interface MadeDestinations {
  /** By id. */
  readonly names: ReadonlyMap<string, DestinationName>;
  readonly hasAudience: boolean;
}

/** The destinations of the sources and the audience with its own, as the receiver at `port` expects them. */
export async function createDestinations(
  api: CallApi,
  sourceIds: readonly string[],
  port: number,
): Promise<MadeDestinations> {
  const names = new Map<string, DestinationName>();
  for (const name of DESTINATIONS) {
    const { id } = await api<{ id: string }>("POST", "/destinations", {
      type: "webhooks",
      name,
      sourceIds: name === "notices" ? [] : sourceIds,
      settings: {
        webhooks: [{ url: `http://127.0.0.1:${port}/${name}` }],
        sharedSecret: SHARED_SECRET,
        ...(name === "ordered" ? { order: "user" } : {}),
      },
      enabled: true,
    });
    names.set(id, name);
  }
  const [notices] = [...names].find(([, name]) => name === "notices") ?? [];
  const audience = {
    name: "Buyers",
    condition: { kind: "event", event: "Ordered", times: { atLeast: EVENTS_OF_MEMBERS } },
    destinationIds: [notices],
  };
  const hasAudience = await api("POST", "/audiences", audience).then(
    () => true,
    (error: Error) => {
      if (!error.message.includes("not_supported")) throw error;
      return false;
    },
  );
  return { names, hasAudience };
}
