import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore } from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";
import { expect, test } from "vitest";
import { startIngestServer } from "./ingest-server.js";

/** Ids as JSON writes them. UTF-8 has no lone surrogates: through it the first three would be one id. */
const IDS = [
  "\\ud800",
  "\\ud801",
  "\\ufffd",
  "\\ud800\\ud801",
  "\\udc00",
  "a",
  "a\\u0000",
  "a\\u0000\\u0000",
  "A",
  "é",
  "e\\u0301",
  "__proto__",
];

test("ids that look alike are told apart by the store on disk, and each is found again", async () => {
  const directory = await mkdtemp(join(tmpdir(), "sluice-ids-"));
  const server = await startIngestServer({ store: await openSqliteStore({ directory, clock: systemClock }) });
  try {
    for (const round of [1, 2]) {
      for (const id of IDS) {
        const answer = await server.post("/v1/track", `{"event":"e","userId":"u","messageId":"${id}"}`);
        expect(answer.body, `${id} in round ${round}`).toEqual({
          success: true,
          accepted: 1,
          ...(round === 1 ? {} : { duplicates: 1 }),
        });
      }
    }
    const ids = IDS.map((id) => JSON.parse(`"${id}"`) as string);
    expect((await server.messages()).map(({ messageId }) => messageId)).toEqual(ids);
    for (const messageId of ids) {
      const { items } = await server.store.log.find({ messageId }, { limit: 10 });
      expect(items.map((item) => item.messageId)).toEqual([messageId]);
    }
  } finally {
    await server.close();
    await rm(directory, { recursive: true, force: true });
  }
});
