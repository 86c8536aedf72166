import { expect, it } from "vitest";
import type { FinishedSpan } from "../../src/process/telemetry/tracing.js";
import { closeDeliveries, openDelivery } from "./delivery-fixture.js";
import { closeReceivers, startReceiver } from "./receiver.js";

closeDeliveries();
closeReceivers();

/** A delivery to one webhook, with the spans that it recorded and the traces that it asked about. */
async function openTraced(startsTraces?: boolean) {
  const receiver = await startReceiver();
  const spans: FinishedSpan[] = [];
  const asked: string[] = [];
  const fixture = await openDelivery({
    tracing: {
      samples: (traceId) => asked.push(traceId) > 0,
      ...(startsTraces === undefined ? {} : { startsTraces }),
      record: (span) => spans.push(span),
      onDropped: () => {},
    },
  });
  await fixture.create({ settings: { webhooks: [{ url: receiver.url }] } });
  return { fixture, spans, asked };
}

it("works a message's trace out once a round, for its attempts and for the storing of the result", async () => {
  const { fixture, spans, asked } = await openTraced();
  await fixture.append([{ messageId: "m1" }, { messageId: "m2" }]);
  for (const id of ["m1", "m2"]) await fixture.until(id, "delivered");
  const named = (name: string): string[] =>
    spans.filter((span) => span.name === name).map(({ traceId }) => traceId);
  await expect.poll(() => named("sluice settle").length).toBe(2);
  expect(asked).toHaveLength(2);
  expect(named("sluice attempt").sort()).toEqual([...asked].sort());
  expect(named("sluice settle").sort()).toEqual([...asked].sort());
});

it("derives no ids for messages without a trace if none may start, and records those with one", async () => {
  const { fixture, spans, asked } = await openTraced(false);
  const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  await fixture.append([{ messageId: "m1" }, { messageId: "m2", context: { traceparent } }]);
  for (const id of ["m1", "m2"]) await fixture.until(id, "delivered");
  await expect.poll(() => spans.length).toBe(2);
  expect(asked).toEqual([]);
  expect(spans.map(({ attributes }) => attributes["messaging.message.id"])).toEqual(["m2", "m2"]);
});
