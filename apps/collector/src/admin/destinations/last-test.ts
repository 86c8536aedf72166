import type { TestSendView } from "@sluice/control-api";
import type { ConfigStore } from "@sluice/event-log";

/** Document kind: the outcome of the last test message, by destination. */
const KIND = "last_test";

export async function keepLastTest(
  config: Pick<ConfigStore, "put">,
  destinationId: string,
  sent: TestSendView,
): Promise<void> {
  await config.put<TestSendView>(KIND, destinationId, sent);
}

export async function lastTest(
  config: Pick<ConfigStore, "get">,
  destinationId: string,
): Promise<TestSendView | undefined> {
  return (await config.get<TestSendView>(KIND, destinationId))?.value;
}

export async function forgetLastTest(
  config: Pick<ConfigStore, "delete">,
  destinationId: string,
): Promise<void> {
  await config.delete(KIND, destinationId);
}
