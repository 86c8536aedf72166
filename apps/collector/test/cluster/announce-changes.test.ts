import { DOCUMENT_KINDS, openMemoryStore } from "@sluice/event-log";
import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { announceChanges } from "../../src/cluster/documents/announce-changes.js";
import { createLogger } from "../../src/process/telemetry/logger.js";

/** Announces changes to one process, whose answers the test gives. */
function announced() {
  const clock = manualClock();
  const { config } = openMemoryStore({ clock });
  const calls: (PromiseWithResolvers<void> & { readonly kinds: readonly string[] })[] = [];
  const stop = announceChanges({
    ...{ config, clock, logger: createLogger({ write: () => {} }) },
    processes: () => [{ node: "b", address: "http://b", isReady: true, silentMs: 0 }],
    tell(_address, kinds) {
      const call = { ...Promise.withResolvers<void>(), kinds };
      calls.push(call);
      return call.promise;
    },
  });
  return { clock, config, calls, stop };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

it("tells a process that does not take changes over of all of them together, in one call at a time", async () => {
  const { clock, config, calls, stop } = announced();
  let inForce = 0;
  for (let number = 0; number < 200; number++) {
    const kind = number % 2 === 0 ? DOCUMENT_KINDS.source : DOCUMENT_KINDS.token;
    void config.put(kind, `id-${number}`, {}, 0).then(() => {
      inForce += 1;
    });
  }
  await settled();
  // That of the start.
  expect(calls).toHaveLength(1);
  calls[0]?.reject(new Error("its disk is full"));
  await settled();
  await clock.advance(500);
  await settled();
  expect(calls).toHaveLength(2);
  expect(calls[1]?.kinds).toEqual(expect.arrayContaining([DOCUMENT_KINDS.source, DOCUMENT_KINDS.token]));
  expect(inForce).toBe(0);
  calls[1]?.resolve();
  await settled();
  expect(inForce).toBe(200);
  stop();
});

it("tells again of what changes while a process takes a change over", async () => {
  const { config, calls, stop } = announced();
  calls[0]?.resolve();
  await settled();
  let inForce = "";
  void config.put(DOCUMENT_KINDS.source, "id-1", {}, 0).then(() => {
    inForce += "1";
  });
  await settled();
  void config.put(DOCUMENT_KINDS.source, "id-2", {}, 0).then(() => {
    inForce += "2";
  });
  await settled();
  expect(calls).toHaveLength(2);
  calls[1]?.resolve();
  await settled();
  expect(inForce).toBe("1");
  calls[2]?.resolve();
  await settled();
  expect(inForce).toBe("12");
  stop();
});
