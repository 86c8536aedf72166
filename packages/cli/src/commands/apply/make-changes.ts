import type { AdminClient } from "@sluice/admin-client";
import type { AudienceInput, DestinationInput, SourceInput, TransformationInput } from "@sluice/control-api";
import { INCIDENT_SOURCE_ID } from "@sluice/protocol";
import { CommandFailure } from "../../failures.js";
import type { CurrentConfig } from "./current-config.js";
import { type Change, type Fields, NOUNS } from "./plan-changes.js";

/** The ids of what others refer to, by name. */
interface Ids {
  readonly transformations: Map<string, string>;
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
    transformations: new Map(current.transformations.map(({ name, id }) => [name, id])),
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
  const body = withIds(section, change.fields, ids, change.action);
  if (change.action === "update") {
    await client[section].patch(change.id, { ...body, version: change.version });
    return;
  }
  if (section === "transformations") {
    const { id } = await client.transformations.create(body as unknown as TransformationInput);
    ids.transformations.set(change.name, id);
  } else if (section === "sources") {
    const { id } = await client.sources.create(body as unknown as SourceInput);
    ids.sources.set(change.name, id);
  } else if (section === "destinations") {
    const { id } = await client.destinations.create(body as unknown as DestinationInput);
    ids.destinations.set(change.name, id);
  } else await client.audiences.create(body as unknown as AudienceInput);
}

/** The fields as the control API takes them: with ids instead of names. A new item has no transformation to detach. */
function withIds(section: Change["section"], fields: Fields, ids: Ids, action: "create" | "update"): Fields {
  const { sources, destinations, transformation, ...rest } = fields;
  const [transformationId] = idsOf("transformations", transformation ?? [], ids);
  const isDetached = transformation === null && action === "update";
  return {
    ...rest,
    ...(section !== "destinations" || sources === undefined
      ? {}
      : { sourceIds: idsOf("sources", sources, ids) }),
    ...(section !== "audiences" || destinations === undefined
      ? {}
      : { destinationIds: idsOf("destinations", destinations, ids) }),
    ...(transformationId === undefined ? {} : { transformationId }),
    ...(isDetached ? { transformationId: null } : {}),
  };
}

function idsOf(section: keyof Ids, names: unknown, ids: Ids): string[] {
  return ([names].flat() as string[]).map((name) => {
    const id = ids[section].get(name);
    if (id === undefined) throw new CommandFailure("usage", `There is no ${NOUNS[section]} ${name}`);
    return id;
  });
}
