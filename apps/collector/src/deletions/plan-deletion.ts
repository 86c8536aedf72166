import type { DeletionPlan } from "@sluice/control-api";
import type { Offset, Store } from "@sluice/event-log";
import { type Identity, idOf, isUserIdentity } from "@sluice/event-log";
import { devicesOf } from "./devices-of.js";
import { messagesOf } from "./messages-of.js";
import type { DeletionParts } from "./run-step.js";

/** Returns what a deletion would remove at this moment. Changes nothing. */
export async function planDeletion(
  identities: readonly Identity[],
  options: { readonly suppress: boolean; readonly includeAliases: boolean },
  { store, profiles }: Pick<DeletionParts, "store" | "profiles">,
): Promise<DeletionPlan> {
  await profiles.counted();
  const users: DeletionPlan["users"][number][] = [];
  for (const identity of identities) {
    const found = await profiles.identitiesOf(identity, options.includeAliases);
    const { profile, audienceMemberships, aliases } = found;
    const bySource = new Map<string, number>();
    const total = { messages: 0, attempts: 0, retries: 0 };
    for await (const { sourceId, offset } of messagesOf(found.identities, store.log)) {
      bySource.set(sourceId, (bySource.get(sourceId) ?? 0) + 1);
      const { attempts, retries } = await deliveriesOf(offset, store);
      total.messages += 1;
      total.attempts += attempts;
      total.retries += retries;
    }
    users.push({
      ...(isUserIdentity(identity) ? { userId: idOf(identity) } : { anonymousId: idOf(identity) }),
      ...total,
      messagesBySource: Array.from(bySource, ([sourceId, messages]) => ({ sourceId, messages })),
      profile,
      audienceMemberships,
      anonymousIds: devicesOf(identity, found),
      aliases,
    });
  }
  return { dryRun: true, ...options, users };
}

/** Counts the stored attempts and retries of a message. */
async function deliveriesOf(
  offset: Offset,
  { consumers }: Pick<Store, "consumers">,
): Promise<{ attempts: number; retries: number }> {
  const deliveries = await consumers.outcomesOf(offset);
  const attempts = await Promise.all(
    deliveries.map(async ({ consumerId }) => (await consumers.attemptsOf(consumerId, offset)).length),
  );
  return {
    attempts: attempts.reduce((sum, count) => sum + count, 0),
    retries: deliveries.filter(({ retry }) => retry !== undefined).length,
  };
}
