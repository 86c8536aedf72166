import { type AdminClient, allPages } from "@sluice/admin-client";

/** Looks up destinations' names by id; reads the list again when an id is new. */
export function destinationNames(client: AdminClient): (id: string) => Promise<string> {
  let known = new Map<string, string>();
  return async (id) => {
    if (!known.has(id)) {
      const names = new Map<string, string>();
      try {
        for await (const { id: one, name } of allPages((cursor) => client.destinations.list({ cursor })))
          names.set(one, name);
      } catch {
        // The stream goes on without names.
      }
      known = names.set(id, names.get(id) ?? id);
    }
    return known.get(id) ?? id;
  };
}
