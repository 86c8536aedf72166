import { afterEach } from "vitest";
import { newId } from "../../src/documents/new-id.js";
import { type Operations, startOperations } from "../../src/operations/start-operations.js";
import { createLogger } from "../../src/process/telemetry/logger.js";
import type { DeliveryFixture } from "./delivery-fixture.js";

const opened: Operations[] = [];

afterEach(async () => {
  await Promise.all(opened.splice(0).map((operations) => operations.close()));
});

/** Operations on a fixture's store. They are closed after the test. */
export async function openOperations({
  store,
  delivery,
  live,
  clock,
}: Pick<DeliveryFixture, "store" | "delivery" | "live" | "clock">): Promise<Operations> {
  const operations = await startOperations({
    store,
    delivery,
    live,
    clock,
    newId: () => newId("op"),
    logger: createLogger({ write() {} }),
  });
  opened.push(operations);
  return operations;
}
