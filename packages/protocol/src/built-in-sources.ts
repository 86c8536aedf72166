/** The source of the messages that audiences and computed traits send. */
export const AUDIENCE_SOURCE_ID = "src_audiences";

/** The source of the messages about incidents, and its name. Destinations connect to it as to any other. */
export const INCIDENT_SOURCE_ID = "sluice";

/** Whether the collector itself makes the messages of a source. Such a source has no write keys, and its messages are about no user's behaviour. */
export function isBuiltInSource(sourceId: string): boolean {
  return sourceId === AUDIENCE_SOURCE_ID || sourceId === INCIDENT_SOURCE_ID;
}
