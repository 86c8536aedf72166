import type { Offset, StoredMessage } from "@sluice/event-log";
import { parseJson } from "@sluice/event-log";
import { describe, expect, it } from "vitest";
import { type Match, match, routingOf } from "../../src/delivery/routing/match.js";
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

interface Case {
  readonly message?: object;
  readonly stored?: Partial<StoredMessage>;
  readonly document?: Partial<DestinationDocument>;
  readonly type?: object;
  readonly replay?: boolean;
}

const ask = (options: Case): Match =>
  match(
    stored(options.message, options.stored),
    routingOf(
      "dst_1",
      document(options.document),
      { name: "Webhooks", sources: ["server", "web"], historical: { accepted: true }, ...options.type },
      new Map([["src_1", source]]),
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
