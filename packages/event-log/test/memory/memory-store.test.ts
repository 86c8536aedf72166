import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { openMemoryStore } from "../../src/memory/open-memory-store.js";
import { BEFORE_FIRST } from "../../src/message/batch.js";
import { idsBatch } from "../batches.js";
import { storeContract } from "../contracts/store.contract.js";

storeContract("memory", async (clock, options) => openMemoryStore({ clock, ...options }));

it("rejects writes while it is broken, and keeps nothing", async () => {
  const store = openMemoryStore({ clock: manualClock() });
  store.breakDown("EIO");
  await expect(store.log.append(idsBatch(["a"]))).rejects.toMatchObject({ code: "storage_unavailable" });
  expect(store.health()).toMatchObject({ kind: "unavailable", reason: "EIO" });
  store.repair();
  expect(await store.log.read(BEFORE_FIRST, { messages: 1, bytes: 1 })).toEqual([]);
  expect(await store.log.append(idsBatch(["a"]))).toMatchObject({ duplicates: [] });
});
