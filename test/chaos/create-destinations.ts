import { DESTINATIONS, type DestinationName, EVENTS_OF_MEMBERS } from "./ledger.ts";
import { SHARED_SECRET } from "./network/receiver.ts";

type CallApi = <T>(method: string, path: string, body?: object) => Promise<T>;

/** The destinations of a source and the audience with its own, as the receiver at `port` expects them. Resolves with their names by id. */
export async function createDestinations(
  api: CallApi,
  sourceId: string,
  port: number,
): Promise<Map<string, DestinationName>> {
  const names = new Map<string, DestinationName>();
  for (const name of DESTINATIONS) {
    const { id } = await api<{ id: string }>("POST", "/destinations", {
      type: "webhooks",
      name,
      sourceIds: name === "notices" ? [] : [sourceId],
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
  await api("POST", "/audiences", {
    name: "Buyers",
    condition: { kind: "event", event: "Ordered", times: { atLeast: EVENTS_OF_MEMBERS } },
    destinationIds: [notices],
  });
  return names;
}
