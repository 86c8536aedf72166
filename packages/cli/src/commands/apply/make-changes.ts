import type { AdminClient } from "@sluice/admin-client";
import type { AudienceInput, DestinationInput, SourceInput } from "@sluice/control-api";
import { INCIDENT_SOURCE_ID } from "@sluice/protocol";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { CurrentConfig } from "./current-config.js";
import { type Change, type Fields, NOUNS } from "./plan-changes.js";

/** The ids of sources and destinations by name. */
interface Ids {
  readonly sources: Map<string, string>;
  readonly destinations: Map<string, string>;
}

/** Makes the changes in order, and calls `onChange` after each. */
export async function makeChanges(
  client: AdminClient,
  changes: readonly Change[],
  current: CurrentConfig,
  onChange: (change: Change) => Promise<void>,
): Promise<void> {
  const ids: Ids = {
    sources: new Map([
      ...current.sources.map(({ name, id }) => [name, id] as const),
      [INCIDENT_SOURCE_ID, INCIDENT_SOURCE_ID],
    ]),
    destinations: new Map(current.destinations.map(({ name, id }) => [name, id])),
  };
  for (const change of changes) {
    await makeChange(client, change, ids);
    await onChange(change);
  }
}

async function makeChange(client: AdminClient, change: Change, ids: Ids): Promise<void> {
  const { section } = change;
  if (change.action === "delete") {
    await client[section].delete(change.id);
    return;
  }
  const body = withIds(section, change.fields, ids);
  if (change.action === "update") {
    await client[section].patch(change.id, { ...body, version: change.version });
    return;
  }
  if (section === "sources") {
    const { id } = await client.sources.create(body as unknown as SourceInput);
    ids.sources.set(change.name, id);
  } else if (section === "destinations") {
    const { id } = await client.destinations.create(body as unknown as DestinationInput);
    ids.destinations.set(change.name, id);
  } else await client.audiences.create(body as unknown as AudienceInput);
}

/** The fields as the control API takes them: with ids instead of names. */
function withIds(section: Change["section"], fields: Fields, ids: Ids): Fields {
  const { sources, destinations, ...rest } = fields;
  if (section === "destinations" && sources !== undefined)
    return { ...rest, sourceIds: idsOf("sources", sources, ids) };
  if (section === "audiences" && destinations !== undefined)
    return { ...rest, destinationIds: idsOf("destinations", destinations, ids) };
  return rest;
}

function idsOf(section: keyof Ids, names: unknown, ids: Ids): string[] {
  return (Array.isArray(names) ? names : []).map((name: string) => {
    const id = ids[section].get(name);
    if (id === undefined) throw new CommandFailure("usage", `There is no ${NOUNS[section]} ${name}`);
    return id;
  });
}
