import type { AdminClient } from "@sluice/admin-client";
import { collect } from "../../connection/find-by-name.js";
import type { DeclaredConfig } from "./declared-config.js";
import type { CurrentItem } from "./plan-changes.js";
import type { CurrentTransformation } from "./plan-transformations.js";

/** What the collector has, in the form of a declared configuration: with names instead of ids. */
export interface CurrentConfig {
  readonly transformations: readonly CurrentTransformation[];
  readonly sources: readonly CurrentItem[];
  readonly destinations: readonly CurrentItem[];
  readonly audiences: readonly CurrentItem[];
}

export async function readCurrentConfig(
  client: AdminClient,
  declared: DeclaredConfig,
): Promise<CurrentConfig> {
  const sources = await collect((cursor) => client.sources.list({ cursor }));
  const destinations = await collect((cursor) => client.destinations.list({ cursor }));
  const transformations = await collect((cursor) => client.transformations.list({ cursor }));
  const nameOf = new Map([...sources, ...destinations, ...transformations].map(({ id, name }) => [id, name]));
  const names = (ids: readonly string[]): string[] => ids.map((id) => nameOf.get(id) ?? id).sort();
  const attached = (id: string | undefined) => ({ transformation: id === undefined ? null : nameOf.get(id) });
  return {
    transformations,
    sources: sources.map(({ transformationId, ...rest }) => ({ ...rest, ...attached(transformationId) })),
    destinations: destinations.map(({ sourceIds, transformationId, ...rest }) => ({
      ...rest,
      sources: names(sourceIds),
      ...attached(transformationId),
    })),
    audiences: declared.audiences === undefined ? [] : await readAudiences(client, names),
  };
}

async function readAudiences(
  client: AdminClient,
  names: (ids: readonly string[]) => string[],
): Promise<CurrentItem[]> {
  const audiences = await collect((cursor) => client.audiences.list({ cursor }));
  return audiences.map(({ destinationIds, ...rest }) => ({ ...rest, destinations: names(destinationIds) }));
}
