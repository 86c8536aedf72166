/** What an entry of the audit log says was done, by the operation's name in the API. */
const ACTIONS: Readonly<Record<string, string>> = {
  "audiences.create": "Created audience",
  "audiences.delete": "Deleted audience",
  "audiences.patch": "Changed audience",
  "backups.create": "Made a backup",
  "cluster.drain": "Drained process",
  "cluster.undrain": "Ended the drain of process",
  "collector.reset": "Deleted all data",
  "computed_traits.create": "Created computed trait",
  "computed_traits.delete": "Deleted computed trait",
  "computed_traits.patch": "Changed computed trait",
  "deletions.create": "Started deletion",
  "deletions.giveUp": "Finished deletion without notifying",
  "deletions.retry": "Retried delete messages of",
  "deliveries.retry": "Retried delivery",
  "destinations.create": "Created destination",
  "destinations.delete": "Deleted destination",
  "destinations.patch": "Changed destination",
  "destinations.test": "Sent a test to",
  "operations.cancel": "Cancelled operation",
  "operations.create": "Started operation",
  "replays.create": "Started replay",
  "sources.addWriteKey": "Added a write key to",
  "sources.create": "Created source",
  "sources.delete": "Deleted source",
  "sources.patch": "Changed source",
  "sources.removePlan": "Removed the tracking plan of",
  "sources.removeWriteKey": "Removed a write key of",
  "sources.setPlan": "Set the tracking plan of",
  "suppressions.lift": "Lifted suppression of",
  "tokens.create": "Created token",
  "tokens.revoke": "Revoked token",
  "transformations.create": "Created transformation",
  "transformations.delete": "Deleted transformation",
  "transformations.patch": "Changed transformation",
};

/** In words; the name itself for an operation that this page does not know. */
export function actionText(action: string): string {
  return ACTIONS[action] ?? action;
}
