/** What notifications are sent about. In a file without schemas: the command line uses it, and does not load TypeBox. */
export const INCIDENT_KINDS = [
  "destination_failing",
  "url_disabled",
  "retention_held_back",
  "disk_low",
  "rejections_rising",
] as const;
