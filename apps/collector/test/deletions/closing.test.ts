import { idDigest, openMemoryStore } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { expect, test } from "vitest";
import { type DeletionsOptions, startDeletions } from "../../src/deletions/start-deletions.js";
import { openSuppressions } from "../../src/documents/suppressions.js";
import { createLogger } from "../../src/process/telemetry/logger.js";

test("closing interrupts a running purge, and the next start completes the deletion", async () => {
  const clock = manualClock();
  const store = openMemoryStore({ clock });
  const digest = idDigest(new Uint8Array(32));
  const noFigures = { profile: false, audienceMemberships: 0 };
  const options: DeletionsOptions = {
    store,
    clock,
    digest,
    suppressions: await openSuppressions({ store, clock, digest }),
    catalog: { get: () => undefined },
    builtInSourceIds: [],
    profiles: {
      counted: async () => {},
      identitiesOf: async (identity) => ({ identities: [identity], aliases: [], ...noFigures }),
      forget: async (users) => users.map(() => noFigures),
      compact: async () => {},
    },
    logger: createLogger({ write() {} }),
    newId: () => "d1",
  };
  const purging = Promise.withResolvers<AbortSignal | undefined>();
  const deletions = await startDeletions({
    ...options,
    store: {
      ...store,
      purge: (_query, signal) => {
        purging.resolve(signal);
        return new Promise((_, reject) =>
          signal?.addEventListener("abort", () => reject(signal.reason), { once: true }),
        );
      },
    },
  });
  await deletions.create(["u:ann"], { suppress: false, includeAliases: false });
  expect(await purging.promise).toBeInstanceOf(AbortSignal);
  await deletions.close();
  expect(await deletions.get("d1")).toMatchObject({ value: { status: "running", step: "purge" } });

  const again = await startDeletions(options);
  while ((await again.get("d1"))?.value.step !== "done") await clock.advance(0);
  expect((await again.get("d1"))?.value.error).toBeUndefined();
  await again.close();
});
