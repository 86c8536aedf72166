import { expect, it } from "vitest";
import { listEvents } from "../../src/admin/sources/list-events.js";
import { SourceEvents } from "../../src/events/source-events.js";

it("says how far the catalog was behind when the list was made, not when the examples were read", async () => {
  const kept = new SourceEvents();
  const entry = kept.entry({ type: "track", name: "Paid" }, 1, false);
  if (entry === undefined) throw new Error("there is room for one name");
  entry.example = 1;
  let behind = 1;
  const read = {
    store: {
      log: {
        async get() {
          kept.entry({ type: "track", name: "Refunded" }, 2, false);
          behind = 0;
          return undefined;
        },
      },
    },
    events: {
      of: () => kept,
      get behind() {
        return behind;
      },
    },
    planOf: () => undefined,
  } as unknown as Parameters<typeof listEvents>[2];
  const { names, behind: listed } = await listEvents("src", {}, read);
  expect({ names, listed }).toEqual({ names: 1, listed: 1 });
});
