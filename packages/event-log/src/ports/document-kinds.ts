/**
 * The kinds of documents in the `ConfigStore`, listed in one place so that no two parts use the same kind. The part that writes a
 * document defines its shape.
 */
export const DOCUMENT_KINDS = {
  source: "source",
  destination: "destination",
  token: "token",
  catchUp: "catch_up",
  sourcePlan: "source_plan",
  eventCatalog: "event_catalog",
  incident: "incident",
  transformation: "transformation",
  transformationVersion: "transformation_version",
} as const;
