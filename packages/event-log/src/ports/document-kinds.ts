/**
 * The kinds of documents in the `ConfigStore`. All are listed here, so that no two parts use one name for two things. The shape of
 * a document belongs to the part that writes it.
 */
export const DOCUMENT_KINDS = {
  source: "source",
  destination: "destination",
  token: "token",
  catchUp: "catch_up",
} as const;
