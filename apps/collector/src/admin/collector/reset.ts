import { DOCUMENT_KINDS } from "@sluice/event-log";
import type { DestinationDocument } from "../../documents/documents.js";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";

export const resetCollector = endpoint({
  name: "collector.reset",
  method: "POST",
  path: "/reset",
  summary:
    "Dev mode only: forget every message, id, delivery, refused message, count and profile; sources, destinations, audiences, computed traits and tokens stay",
  access: "write",
  answers: { status: 204, description: "All are forgotten" },
  errors: ["not_found"],
  async handle(_asked, { mode, store, delivery, audiences }) {
    if (mode !== "dev") throw new CollectorError("not_found", "only a collector in dev mode can be reset");
    await audiences.reset(() => store.clear());
    // They notice that nothing waits any more.
    for (const { id } of await store.config.list<DestinationDocument>(DOCUMENT_KINDS.destination))
      delivery.wake(id);
    return { status: 204 };
  },
});
