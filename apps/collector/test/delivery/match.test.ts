import type { Offset, StoredMessage } from "@sluice/event-log";
import { parseJson, userIdentity } from "@sluice/event-log";
import { INCIDENT_SOURCE_ID } from "@sluice/protocol";
import { describe, expect, it } from "vitest";
import {
  isOutbound,
  type Match,
  match,
  type Routing,
  routingOf,
  wasDisabledAt,
} from "../../src/delivery/routing/match.js";
import type { DestinationDocument, SourceDocument } from "../../src/documents/documents.js";

const at = (offset: number): Offset => offset as Offset;
const RECEIVED = Date.UTC(2026, 10, 21, 9, 30);

const document = (changes: Partial<DestinationDocument> = {}): DestinationDocument => ({
  type: "webhooks",
  name: "Orders",
  enabled: true,
  createdAt: "2026-01-01T00:00:00.000Z",
  connections: [{ sourceId: "src_1", since: at(9) }],
  disabledSpans: [],
  filters: [],
  settings: {},
  ...changes,
});
const source: SourceDocument = {
  name: "Shop",
  kind: "server",
  createdAt: "2026-01-01T00:00:00.000Z",
  writeKeys: [],
  blockedEvents: ["Noise"],
};
const stored = (message: object = {}, changes: Partial<StoredMessage> = {}): StoredMessage => ({
  offset: at(10),
  sourceId: "src_1",
  receivedAtMs: RECEIVED,
  messageId: "m1",
  message: { type: "track", event: "Ordered", userId: "u1", messageId: "m1", ...message },
  ...changes,
});

const INCIDENT = { sourceId: INCIDENT_SOURCE_ID };
const TO_INCIDENTS = { connections: [{ sourceId: INCIDENT_SOURCE_ID, since: at(9) }] };

interface Case {
  readonly message?: object;
  readonly stored?: Partial<StoredMessage>;
  readonly document?: Partial<DestinationDocument>;
  readonly type?: object;
  readonly replay?: boolean;
  readonly isSuppressed?: Routing["isSuppressed"];
}

const ask = (options: Case): Match =>
  match(
    stored(options.message, options.stored),
    routingOf(
      "dst_1",
      document(options.document),
      { name: "Webhooks", sources: ["server", "web"], historical: { accepted: true }, ...options.type },
      new Map([["src_1", source]]),
      options.isSuppressed,
    ),
    options.replay ?? false,
  );

describe("match", () => {
  it.each<[name: string, options: Case, expected: Match["kind"], reason?: string]>([
    ["a message of a connected source", {}, "deliver"],
    ["a message of another source", { stored: { sourceId: "src_2" } }, "unconnected"],
    ["a message from before the source was connected", { stored: { offset: at(9) } }, "unconnected"],
    [
      "a message that was queued when the source was disconnected",
      { document: { connections: [{ sourceId: "src_1", since: at(9), upTo: at(10) }] } },
      "deliver",
    ],
    [
      "a message from after the source was disconnected",
      {
        stored: { offset: at(11) },
        document: { connections: [{ sourceId: "src_1", since: at(9), upTo: at(10) }] },
      },
      "unconnected",
    ],
    [
      "a message from a time when it was disabled",
      { document: { disabledSpans: [{ after: at(9), upTo: at(10) }] } },
      "skipped",
      "the destination was disabled",
    ],
    [
      "a message that was queued when the source was disconnected, which is connected again",
      {
        document: {
          connections: [
            { sourceId: "src_1", since: at(9), upTo: at(10) },
            { sourceId: "src_1", since: at(12) },
          ],
        },
      },
      "deliver",
    ],
    [
      "a message that the source sent between two connections",
      {
        stored: { offset: at(11) },
        document: {
          connections: [
            { sourceId: "src_1", since: at(9), upTo: at(10) },
            { sourceId: "src_1", since: at(12) },
          ],
        },
      },
      "unconnected",
    ],
    [
      "a message from after the source was connected again",
      {
        stored: { offset: at(13) },
        document: {
          connections: [
            { sourceId: "src_1", since: at(9), upTo: at(10) },
            { sourceId: "src_1", since: at(12) },
          ],
        },
      },
      "deliver",
    ],
    [
      "a replay of a message of a source that was never connected",
      { stored: { sourceId: "src_2" }, replay: true },
      "unconnected",
    ],
    [
      "a message that came while its user was suppressed",
      { isSuppressed: (identity, offset) => identity === userIdentity("u1") && offset === at(10) },
      "suppressed",
      "the user is suppressed",
    ],
    [
      "a replay of such a message",
      { isSuppressed: () => true, replay: true },
      "suppressed",
      "the user is suppressed",
    ],
    [
      "a message of a suppressed user that came before",
      { isSuppressed: (_identity, offset) => offset > at(10) },
      "deliver",
    ],
    [
      "a message that the collector created for it while it was disabled",
      { stored: { onlyDestinations: ["dst_1"] }, document: { disabledSpans: [{ after: at(9) }] } },
      "skipped",
      "the destination was disabled",
    ],
    [
      "a message from before it was disabled",
      { document: { disabledSpans: [{ after: at(10) }] } },
      "deliver",
    ],
    [
      "a replay of a message from a time when it was disabled",
      { document: { disabledSpans: [{ after: at(9) }] }, replay: true },
      "deliver",
    ],
    ["a replay from before the source was connected", { stored: { offset: at(3) }, replay: true }, "deliver"],
    [
      "an event that the source blocks",
      { message: { event: "Noise" } },
      "filtered",
      "blocked event: the source blocks it",
    ],
    [
      "another message type with the name of a blocked event",
      { message: { type: "page", event: "Noise" } },
      "deliver",
    ],
    [
      "a source kind that the type does not support",
      { type: { sources: ["mobile"] } },
      "filtered",
      "source kind: Webhooks does not work for server sources",
    ],
    [
      "a historical message for a type that accepts none",
      {
        message: { timestamp: "2026-11-20T00:00:00Z" },
        type: { historical: { accepted: false, limitMs: 3_600_000 } },
      },
      "filtered",
      "historical",
    ],
    [
      "a recent message for a type that accepts no historical ones",
      {
        message: { timestamp: "2026-11-21T09:29:00Z" },
        type: { historical: { accepted: false, limitMs: 3_600_000 } },
      },
      "deliver",
    ],
    [
      "a message exactly as old as the type accepts",
      {
        message: { timestamp: "2026-11-21T09:29:00Z" },
        type: { historical: { accepted: false, limitMs: 60_000 } },
      },
      "deliver",
    ],
    [
      "an old message for a type that accepts historical ones",
      {
        message: { timestamp: "2020-01-01T00:00:00Z" },
        type: { historical: { accepted: true, limitMs: 60_000 } },
      },
      "deliver",
    ],
    ["All: false", { message: { integrations: { All: false } } }, "filtered", "integrations: All is false"],
    ["all: false is no All", { message: { integrations: { all: false } } }, "deliver"],
    [
      "the type's name",
      { message: { integrations: { Webhooks: false } } },
      "filtered",
      "integrations: Webhooks is false",
    ],
    ["the name in another case", { message: { integrations: { webhooks: false } } }, "deliver"],
    [
      "All: false and the catalog's name",
      { message: { integrations: { All: false, Webhooks: true } } },
      "deliver",
    ],
    [
      "All: false and an object",
      { message: { integrations: { All: false, Webhooks: { a: 1 } } } },
      "deliver",
    ],
    [
      "the destination's name over the type's name",
      { message: { integrations: { Webhooks: true, Orders: false } } },
      "filtered",
      "integrations: Orders is false",
    ],
    ["a value that is not a boolean", { message: { integrations: { Orders: "no" } } }, "deliver"],
    ["integrations that are not an object", { message: { integrations: "none" } }, "deliver"],
    [
      "a message that was imported without delivery",
      { stored: { isWithoutDelivery: true } },
      "filtered",
      "not delivered: imported without delivery",
    ],
    [
      "an import without delivery whose message asks for all destinations",
      { stored: { isWithoutDelivery: true }, message: { integrations: { All: true } } },
      "filtered",
      "not delivered: imported without delivery",
    ],
    [
      "an import without delivery whose message names the destination",
      { stored: { isWithoutDelivery: true }, message: { integrations: { Orders: true } } },
      "deliver",
    ],
    [
      "an import without delivery whose message excludes the destination",
      { stored: { isWithoutDelivery: true }, message: { integrations: { Orders: false } } },
      "filtered",
      "integrations: Orders is false",
    ],
    [
      "a replay of a message that was imported without delivery",
      { stored: { isWithoutDelivery: true }, replay: true },
      "deliver",
    ],
    [
      "an incident of another destination",
      { stored: INCIDENT, document: TO_INCIDENTS, message: { properties: { destination_id: "dst_2" } } },
      "deliver",
    ],
    [
      "an incident of its own",
      { stored: INCIDENT, document: TO_INCIDENTS, message: { properties: { destination_id: "dst_1" } } },
      "filtered",
      "own incident: it is about this destination",
    ],
    [
      "a message of a client that looks like an incident of its own",
      { message: { properties: { destination_id: "dst_1" } } },
      "deliver",
    ],
    [
      "a message that the collector created for it",
      {
        stored: { sourceId: "audiences", onlyDestinations: ["dst_1"] },
        message: { integrations: { All: false } },
      },
      "deliver",
    ],
    [
      "a message that the collector created for another destination",
      { stored: { onlyDestinations: ["dst_2"] } },
      "unconnected",
    ],
  ])("%s", (_name, options, kind, reason) => {
    expect(ask(options)).toMatchObject({ kind, ...(reason === undefined ? {} : { reason }) });
  });

  it("delivers the message itself, with the time that it says", () => {
    const original = stored({ timestamp: "2026-11-21T09:29:00Z" });
    const type = { name: "Webhooks", sources: ["server"], historical: { accepted: true } } as const;
    const routing = routingOf("dst_1", document(), type, new Map());
    expect(match(original, routing, false)).toEqual({
      kind: "deliver",
      message: original.message,
      timeMs: Date.UTC(2026, 10, 21, 9, 29),
    });
    const created = match({ ...original, onlyDestinations: ["dst_1"] }, routing, false);
    expect(created).toMatchObject({ kind: "deliver", timeMs: Date.UTC(2026, 10, 21, 9, 29) });
  });

  it("removes fields without changing the message, which other destinations get unchanged", () => {
    const message = {
      properties: { email: "a@b.c", plan: "pro", deep: { x: 1, y: 2 }, "utm.source": "mail" },
    };
    const original = stored(message);
    const routing = routingOf(
      "dst_1",
      document({
        filters: [
          {
            action: {
              kind: "remove",
              paths: ["properties.email", "properties.deep.x", "properties.utm.source", "no.such"],
            },
          },
        ],
      }),
      { name: "Webhooks", sources: ["server"], historical: { accepted: true } },
      new Map(),
    );
    const matched = match(original, routing, false);
    expect(matched).toMatchObject({ kind: "deliver", message: { event: "Ordered" } });
    expect(matched.kind === "deliver" && matched.message.properties).toEqual({ plan: "pro", deep: { y: 2 } });
    expect(original.message.properties).toEqual(message.properties);
  });

  it("samples by message id, deterministically, and close to the share", () => {
    const filters = [{ action: { kind: "sample", share: 0.25 } }] as const;
    const kept = (): string[] =>
      Array.from({ length: 2_000 }, (_, i) => `message-${i}`).filter(
        (messageId) => ask({ stored: { messageId }, document: { filters } }).kind === "deliver",
      );
    const first = kept();
    expect(kept()).toEqual(first);
    expect(first.length).toBeGreaterThan(420);
    expect(first.length).toBeLessThan(580);
  });

  it.each<[condition: object, holds: boolean]>([
    [{ path: "properties.plan", is: "equals", value: "pro" }, true],
    [{ path: "properties.plan", is: "not_equals", value: "pro" }, false],
    [{ path: "properties.none", is: "not_equals", value: "pro" }, true],
    [{ path: "properties.plan", is: "exists" }, true],
    [{ path: "properties.none", is: "exists" }, false],
    [{ path: "properties.none", is: "exists", value: false }, true],
    [{ path: "properties.plan", is: "contains", value: "r" }, true],
    [{ path: "properties.tags", is: "contains", value: "b" }, true],
    [{ path: "properties.total", is: "less", value: 10 }, true],
    [{ path: "properties.total", is: "greater", value: 10 }, false],
    [{ path: "properties.total", is: "less", value: "10" }, false],
    [{ path: "properties.plan", is: "in", value: ["pro", "free"] }, true],
    [{ path: "properties.__proto__.x", is: "exists" }, false],
    [{ path: "properties.nothing", is: "exists" }, false],
    [{ path: "properties.nothing", is: "exists", value: false }, true],
    [{ path: "properties.price", is: "less", value: 10 }, true],
    [{ path: "properties.at", is: "less", value: "2026-01-01T00:00:00Z" }, true],
    [{ path: "properties.plan", is: "less", value: "2026-01-01" }, false],
    [{ path: "properties.account", is: "equals", value: 9007199254740992 }, true],
    [{ path: "properties.account", is: "greater", value: 100 }, true],
    [{ path: "properties.utm.source", is: "equals", value: "mail" }, true],
  ])("drops where %j", (condition, holds) => {
    const filters = [{ kinds: ["track"], where: [condition], action: { kind: "drop" } }];
    const properties = {
      plan: "pro",
      total: 9,
      tags: ["a", "b"],
      nothing: null,
      price: "9",
      at: "2026-01-01T01:00:00+02:00",
      account: parseJson("9007199254740993"),
      "utm.source": "mail",
    };
    const message = { properties };
    expect(ask({ message, document: { filters } as object }).kind).toBe(holds ? "filtered" : "deliver");
  });
});

describe("wasDisabledAt", () => {
  const disabledSpans = [{ after: at(3), upTo: at(5) }, { after: at(8) }];
  it.each([
    [3, false],
    [4, true],
    [5, true],
    [6, false],
    [8, false],
    [9, true],
    [1_000, true],
  ])("offset %i: %s", (offset, expected) => {
    expect(wasDisabledAt(document({ disabledSpans }), at(offset))).toBe(expected);
  });
});

describe("isOutbound", () => {
  it.each([
    ["track", true],
    ["alias", true],
    ["delete", true],
    ["heartbeat", false],
    [undefined, false],
  ])("%s: %s", (type, expected) => {
    expect(isOutbound({ type } as { type: string })).toBe(expected);
  });
});
