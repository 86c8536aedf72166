import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, it } from "vitest";
import type { Offset } from "../../src/message/batch.js";
import { BEFORE_FIRST } from "../../src/message/batch.js";
import { encodeAppend, hashBatch, KeyHasher } from "../../src/sqlite/calls/append-request.js";
import { encodeSettlement } from "../../src/sqlite/calls/settle-request.js";
import { STORE_DEFAULTS, TUNING_DEFAULTS } from "../../src/sqlite/calls/tuning.js";
import { applyEntry } from "../../src/sqlite/replica/apply-entry.js";
import { encodeCall, type LoggedCall } from "../../src/sqlite/replica/call-codec.js";
import { encodeEntry } from "../../src/sqlite/replica/entry.js";
import { OpenStore } from "../../src/sqlite/thread/open-store.js";
import { idsBatch } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();

it("does not refuse an entry's call that meets damaged data: other copies would not", () => {
  const directory = temporaryDirectory();
  const options = { ...STORE_DEFAULTS, directory, tuning: TUNING_DEFAULTS, isReplica: true };
  const damages: unknown[] = [];
  const opening = { damaged: (error: unknown) => damages.push(error), isFirst: true, isCareful: false };
  let store = OpenStore.open(options, opening);
  const apply = (call: LoggedCall): void => {
    const { sequence } = store.applied;
    const data = encodeEntry({ session: "a", number: sequence + 1 }, [encodeCall(call)]);
    ({ store } = applyEntry(store, sequence + 1, data));
  };
  const { seed } = store.snapshot;
  const { dedupeWindowMs, rejectionsKept, retention } = STORE_DEFAULTS;
  const settings = { dedupeWindowMs, rejectionsKept, retention, tuning: TUNING_DEFAULTS };
  apply({ operation: "takeover", request: { node: "n", term: 1, seed, settings } });
  const sources = { numberOf: (id: string, added: [number, string][]) => added.push([1, id]) };
  const batches = [hashBatch(idsBatch(["a", "b"]), new KeyHasher(seed))];
  apply({ operation: "append", request: { ...encodeAppend(batches, sources), trustedMs: 1 } });
  apply({ operation: "consumers.open", request: ["dst_1", BEFORE_FIRST] });
  const outcomes = [0, 1].map((offset) => ({
    ...{ offset: offset as Offset, state: "delivered" as const, reason: "200", atMs: 1 },
  }));
  const attempts = [{ offset: 0 as Offset, attempt: 1, atMs: 1, url: "https://example.com/", latencyMs: 1 }];
  const settlement = { cursor: 1 as Offset, outcomes, retries: [], attempts };
  apply({ operation: "settle", request: encodeSettlement("dst_1", settlement, 1) });
  store.close();
  const database = new DatabaseSync(join(directory, "sluice.db"));
  database.exec("UPDATE chunks SET checksum = checksum + 1");
  database.close();

  store = OpenStore.open(options, opening);
  const { sequence } = store.applied;
  expect(() => apply({ operation: "purgeMessages", request: { offsets: [0] } })).toThrow(/damaged/);
  store.abandon();
  expect(OpenStore.open(options, opening).applied.sequence).toBe(sequence);
});
