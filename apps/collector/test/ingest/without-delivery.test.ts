import { BEFORE_FIRST, decodeBatch, openMemoryStore, scanRequest } from "@sluice/event-log";
import { systemClock } from "@sluice/resilience";
import { expect, test } from "vitest";
import { startIngestServer } from "./ingest-server.js";

const track = (userId: string) => ({ type: "track", userId, messageId: `m-${userId}`, event: "Paid" });

async function stored(body: object) {
  const store = await openMemoryStore({ clock: systemClock });
  const server = await startIngestServer({ store, suppressed: ["u:gone"] });
  const response = await server.post("/v1/import", body);
  const batches = await store.log.read(BEFORE_FIRST, { messages: 10, bytes: 100_000 });
  await server.close();
  return {
    status: response.status,
    body: JSON.stringify(response.body),
    messages: batches.flatMap(decodeBatch),
  };
}

test.each<[string, object, boolean]>([
  ["no word about delivery", { batch: [track("1")] }, false],
  ["deliver: true", { deliver: true, batch: [track("1")] }, false],
  ["deliver: false", { deliver: false, batch: [track("1")] }, true],
  ["deliver: false after the messages", { batch: [track("1")], deliver: false }, true],
  ["deliver: false beside a suppressed user", { deliver: false, batch: [track("gone"), track("1")] }, true],
])("a batch with %s is marked: %s", async (_name, body, isWithoutDelivery) => {
  const { status, messages } = await stored(body);
  expect(status).toBe(200);
  expect(messages.map((message) => message.isWithoutDelivery === true)).toEqual(
    messages.map(() => isWithoutDelivery),
  );
  expect(messages.length).toBeGreaterThan(0);
});

test.each([["false"], [0], [null], [{}], [[false]]])(
  "deliver: %j is refused, and nothing is stored",
  async (deliver) => {
    const { status, body, messages } = await stored({ deliver, batch: [track("1")] });
    expect(status).toBe(400);
    expect(body).toContain("`deliver` must be true or false");
    expect(messages).toEqual([]);
  },
);

test("a repeated `deliver` is left to the parser, which takes the last", async () => {
  const body = `{"deliver":false,"deliver":true,"batch":[${JSON.stringify(track("1"))}]}`;
  expect(scanRequest(Buffer.from(body), undefined)).toBeUndefined();
});
