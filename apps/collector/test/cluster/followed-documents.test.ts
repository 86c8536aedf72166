import { DOCUMENT_KINDS, openMemoryStore, type Replica, type Versioned } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { FollowedDocuments } from "../../src/cluster/documents/followed-documents.js";

const SOURCE: Versioned<unknown> = { id: "src_1", version: 1, value: { name: "one" } };

/** A copy of the control partition, which contains its whole log. */
function controlCopy() {
  const copy = { applied: 100, documents: [SOURCE] as readonly Versioned<unknown>[] };
  const control = {
    status: () => ({ role: "following", applied: copy.applied, last: 100 }),
    caughtUp: async () => {},
    documents: async (kind: string) => (kind === DOCUMENT_KINDS.source ? copy.documents : []),
  } as unknown as Replica;
  return { copy, control };
}

it("deletes nothing because of a copy that was built again while a change waited for its turn", async () => {
  const clock = manualClock();
  const { copy, control } = controlCopy();
  const documents = new FollowedDocuments({ clock, control, sources: { refresh: async () => {} } as never });
  const memory = openMemoryStore({ clock });
  let gate = Promise.resolve();
  const reached = Promise.withResolvers<void>();
  const store = Object.assign(Object.create(memory), {
    config: {
      ...memory.config,
      async list(kind: string) {
        reached.resolve();
        await gate;
        return memory.config.list(kind);
      },
    },
  }) as typeof memory;
  await documents.follow(1, memory, new AbortController().signal);
  expect(await memory.config.get(DOCUMENT_KINDS.source, SOURCE.id)).toMatchObject(SOURCE);

  const open = Promise.withResolvers<void>();
  gate = open.promise;
  await Promise.race([documents.follow(1, store, new AbortController().signal), reached.promise]);
  const change = documents.changed([DOCUMENT_KINDS.source]);
  change.catch(() => {});
  await new Promise((resolve) => setImmediate(resolve));
  // It was damaged, and begins again with an empty one.
  copy.applied = 1;
  copy.documents = [];
  open.resolve();
  await expect(change).rejects.toThrow("the copy of the control partition is being replaced");
  expect(await memory.config.get(DOCUMENT_KINDS.source, SOURCE.id)).toMatchObject(SOURCE);
});
