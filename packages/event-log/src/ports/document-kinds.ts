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
  suppression: "suppression",
  transformation: "transformation",
  transformationVersion: "transformation_version",
} as const;

/** The documents by which messages are admitted. What was admitted by former ones is not stored once a change is answered. */
export const ADMISSION_KINDS: ReadonlySet<string> = new Set([
  DOCUMENT_KINDS.source,
  DOCUMENT_KINDS.sourcePlan,
  DOCUMENT_KINDS.suppression,
]);
