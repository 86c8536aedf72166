import type { EventNamesView } from "@sluice/control-api";
import { type JsonObject, readPlan } from "@sluice/protocol";
import { useQueries } from "@tanstack/react-query";
import { useApi } from "../../../api/api-context.js";
import { planQuery, useEventNames, useSources } from "../../../api/queries.js";
import { type KnownFields, knownFields } from "./completions.js";

/** What can be completed: from seen messages, the events of all sources, and tracking plans. Empty `sourceId`: of all sources. */
export function useKnownFields(
  messages: readonly JsonObject[],
  sourceId: string,
  secretNames: readonly string[],
): KnownFields {
  const api = useApi();
  const seen = useEventNames().data ?? [];
  const sources = (useSources().data ?? []).filter(({ id }) => sourceId === "" || sourceId === id);
  const plans = useQueries({ queries: sources.map(({ id }) => planQuery(api, id)) });
  const planned = plans.flatMap(({ data }) => (data ? plannedEvents(data.plan) : []));
  return knownFields(messages, [...planned, ...seen], secretNames);
}

/** The track events of a plan, with the properties that it names. */
export function plannedEvents(plan: unknown): EventNamesView["items"] {
  const reading = readPlan(plan);
  const track = reading.kind === "plan" ? [...(reading.plan.track ?? [])] : [];
  return track.map(([name, schema]) => ({ name, properties: [...(schema.properties?.keys() ?? [])] }));
}
