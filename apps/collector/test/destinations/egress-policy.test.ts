import { manualClock } from "@sluice/resilience/testing";
import { expect, it } from "vitest";
import { createDestination } from "../../src/delivery/control/connections.js";
import type { ResolveHost } from "../../src/sender/checked-connector.js";
import { closeDeliveries, openDelivery } from "../delivery/delivery-fixture.js";
import { closeReceivers, startReceiver } from "../delivery/receiver.js";

closeDeliveries();
closeReceivers();

it("reports a forbidden address with the same error when settings are saved, tested and used, and opens no connection", async () => {
  const receiver = await startReceiver();
  const url = receiver.url.replace("127.0.0.1", "hooks.test");
  // A name that resolves to a public address while the settings are saved, and to loopback afterwards.
  let address = "198.41.0.4";
  const resolve: ResolveHost = async () => [{ address, family: 4 }];
  const fixture = await openDelivery({ allow: [], resolve });
  const id = await fixture.create({ settings: { webhookUrl: url } });
  address = "127.0.0.1";

  const saved = await createDestination(fixture, { type: "webhooks", settings: { webhookUrl: url } });
  const words = saved.kind === "invalid" ? saved.issues[0]?.message : "";
  expect(words).toContain("hooks.test is 127.0.0.1, which is a loopback address");

  const tested = await fixture.delivery.test(id);
  expect(tested).toMatchObject({ state: "failed", attempts: [{ error: { message: words } }] });

  await fixture.append([{ messageId: "m1" }]);
  await fixture.until("m1", "failed");
  expect(await fixture.attempts(id, "m1")).toMatchObject([
    { error: { code: "address_not_allowed", message: words } },
  ]);
  expect(receiver.received).toHaveLength(0);
});

it("does not wait for an unresponsive name server when settings are saved", async () => {
  const clock = manualClock();
  const fixture = await openDelivery({ clock, resolve: () => new Promise(() => {}) });
  const creating = fixture.create({ settings: { webhookUrl: "https://hooks.test/" } });
  await clock.advance(2_000);
  expect(await creating).toMatch(/^dst_/);
});
