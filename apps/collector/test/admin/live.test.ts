import type { LiveEventView } from "@sluice/control-api";
import type { Offset, StoredMessage } from "@sluice/event-log";
import { describe, expect, it, vi } from "vitest";
import { type ControlApi, controlApi } from "./control-api.js";

interface Received {
  readonly id: string;
  readonly event: LiveEventView;
}

/** Listens until it is disposed of. `isSlow` makes every write answer that the reader does not keep up. */
function listen(
  api: ControlApi,
  {
    q,
    lastEventId,
    token,
    isSlow = () => false,
  }: { q?: string; lastEventId?: string; token?: string; isSlow?: () => boolean } = {},
) {
  const received: Received[] = [];
  const comments: string[] = [];
  let release = (): void => {};
  const end = new AbortController();
  const done = api.ask(
    "GET",
    `/api/v1/live${q === undefined ? "" : `?q=${encodeURIComponent(q)}`}`,
    undefined,
    {
      signal: end.signal,
      ...(token === undefined ? {} : { token }),
      ...(lastEventId === undefined ? {} : { headers: { "last-event-id": lastEventId } }),
      onChunk(chunk) {
        for (const block of chunk.split("\n\n").filter(Boolean)) {
          const data = /^data: (.*)$/m.exec(block)?.[1];
          if (data === undefined) comments.push(block);
          else received.push({ id: /^id: (.*)$/m.exec(block)?.[1] ?? "", event: JSON.parse(data) });
        }
        return !isSlow();
      },
      drained: () =>
        new Promise((resolve) => {
          release = resolve;
          if (end.signal.aborted) resolve();
        }),
    },
  );
  return {
    received,
    comments,
    kinds: () => received.map(({ event }) => event.kind),
    ids: () => received.map(({ event }) => ("messageId" in event ? event.messageId : undefined)),
    release: () => release(),
    done,
    async [Symbol.asyncDispose]() {
      end.abort();
      release();
      await done;
    },
  };
}

const track = (messageId: string, event = "Paid") => ({ messageId, type: "track", event, userId: "1" });

function publishOutcome(
  api: ControlApi,
  offset: number,
  messageId: string,
  state: "delivered" | "failed",
  stored?: StoredMessage,
) {
  api.live.publish(
    {
      kind: "outcome",
      destinationId: "dst_a",
      offset: offset as Offset,
      messageId,
      state,
      reason: state === "failed" ? "404" : "200",
      atMs: api.clock.now(),
    },
    stored,
  );
}

describe("many streams", () => {
  const open = (api: ControlApi, count: number, token?: string) =>
    Array.from({ length: count }, () => listen(api, token === undefined ? {} : { token }));

  it("of one token are limited, and those of others are not", async () => {
    await using api = await controlApi();
    const { body } = await api.ask("POST", "/api/v1/tokens", { name: "wall", access: "read" });
    const streams = open(api, 20, body.token);
    const refused = await api.ask("GET", "/api/v1/live", undefined, { token: body.token });
    expect(refused.status).toBe(429);
    expect(refused.body.message).toContain("this token has 20 live streams open");
    expect(refused.headers["retry-after"]).toBe("10");
    const other = listen(api);
    await streams.pop()?.[Symbol.asyncDispose]();
    streams.push(other, ...open(api, 1, body.token));
    expect((await api.ask("GET", "/api/v1/live", undefined, { token: body.token })).status).toBe(429);
    for (const stream of streams) await stream[Symbol.asyncDispose]();
  });
});

describe("a token that is revoked", () => {
  it.each([
    ["waits for messages", false, ["m1"]],
    ["waits for its reader", true, []],
  ])("ends its stream, also while it %s, and no other", async (_name, isSlow, seen) => {
    await using api = await controlApi();
    const { view, token } = await api.tokens.create("ci", "read");
    await using its = listen(api, { token, isSlow: () => isSlow });
    await using others = listen(api);
    await api.clock.advance(0);
    await api.receive("src_a", [track("m1")]);
    await api.clock.advance(1_000);
    expect([its.ids(), others.ids()]).toEqual([seen, ["m1"]]);
    expect((await api.ask("DELETE", `/api/v1/tokens/${view.id}`)).status).toBe(204);
    await its.done;
    await api.receive("src_a", [track("m2")]);
    await api.clock.advance(1_000);
    expect([its.ids(), others.ids()]).toEqual([seen, ["m1", "m2"]]);
  });

  it("gets no message that the store hands over later", async () => {
    await using api = await controlApi();
    const { view, token } = await api.tokens.create("ci", "read");
    await using its = listen(api, { token });
    await api.clock.advance(0);
    await Promise.all([api.receive("src_a", [track("m1")]), api.tokens.revoke(view.id)]);
    await its.done;
    expect(its.ids()).toEqual([]);
  });

  it("ends its wait for a message", async () => {
    await using api = await controlApi();
    const { view, token } = await api.tokens.create("ci", "read");
    const waiting = api.ask("GET", "/api/v1/wait?messageId=m1&timeout=600s", undefined, { token });
    await api.clock.advance(1_000);
    expect((await api.ask("DELETE", `/api/v1/tokens/${view.id}`)).status).toBe(204);
    expect(await waiting).toMatchObject({ status: 401, body: { code: "unauthorized" } });
  });
});

describe("the live stream", () => {
  it("sends every message as it is stored, none from before", async () => {
    await using api = await controlApi();
    await api.receive("src_a", [track("before")]);
    await using stream = listen(api);
    await api.clock.advance(0);
    await api.receive("src_a", [track("m-1"), track("m-2")]);
    await api.clock.advance(1_000);
    expect(stream.ids()).toEqual(["m-1", "m-2"]);
    expect(stream.received[0]?.event).toMatchObject({
      kind: "message",
      sourceId: "src_a",
      message: track("m-1"),
    });
  });

  it("never sends an outcome before its message", async () => {
    await using api = await controlApi();
    await using stream = listen(api);
    await api.clock.advance(0);
    const head = await api.receive("src_a", [track("m-1")]);
    publishOutcome(api, head, "m-1", "delivered");
    publishOutcome(api, head + 1, "m-2", "delivered");
    await api.clock.advance(1_000);
    expect(stream.kinds()).toEqual(["message", "outcome"]);
    await api.receive("src_a", [track("m-2")]);
    await api.clock.advance(1_000);
    expect(stream.ids()).toEqual(["m-1", "m-1", "m-2", "m-2"]);
  });

  it("filters messages and the outcomes of those", async () => {
    await using api = await controlApi();
    await using stream = listen(api, { q: "event:Paid" });
    await api.clock.advance(0);
    const head = await api.receive("src_a", [track("m-1"), track("m-2", "Viewed")]);
    publishOutcome(api, head, "m-2", "delivered");
    publishOutcome(api, head - 1, "m-1", "delivered");
    await api.clock.advance(1_000);
    expect(stream.ids()).toEqual(["m-1", "m-1"]);
  });

  it("with a filter about outcomes sends a message when such an outcome comes", async () => {
    await using api = await controlApi();
    await using stream = listen(api, { q: "outcome:failed" });
    await api.clock.advance(0);
    const head = await api.receive("src_a", [track("m-1"), track("m-2")]);
    publishOutcome(api, head - 1, "m-1", "delivered");
    publishOutcome(api, head, "m-2", "failed");
    publishOutcome(api, head, "m-2", "failed");
    await api.clock.advance(1_000);
    expect(stream.received.map(({ event }) => event.kind)).toEqual(["message", "outcome", "outcome"]);
    expect(new Set(stream.ids())).toEqual(new Set(["m-2"]));
  });

  it("misses nothing of a batch that follows one with refused items at its end", async () => {
    await using api = await controlApi();
    await using stream = listen(api);
    await api.clock.advance(0);
    await api.store.log.append({
      sourceId: "src_a",
      receivedAtMs: api.clock.now(),
      body: Buffer.from(JSON.stringify({ batch: [track("m-1"), {}, {}] })),
      itemCount: 3,
      skipped: [1, 2],
      madeIds: [],
      keys: [{ index: 0, messageId: "m-1", userId: "1", type: "track" }],
    });
    await api.clock.advance(1_000);
    await api.receive("src_a", [track("m-2"), track("m-3")]);
    await api.clock.advance(1_000);
    expect(stream.ids()).toEqual(["m-1", "m-2", "m-3"]);
  });

  it("begins at the head where the position is of another collector", async () => {
    await using api = await controlApi();
    await using stream = listen(api, { lastEventId: "9000/2026-01-01T00:00:00.000Z" });
    await api.clock.advance(0);
    await api.receive("src_a", [track("m-1")]);
    await api.clock.advance(1_000);
    expect(stream.ids()).toEqual(["m-1"]);
  });

  describe("while a backlog drains", () => {
    const OLD = Array.from({ length: 2_000 }, (_, index) => track(`old-${index}`));
    /** In small requests: looking a message up decodes its whole request. */
    async function receiveOld(api: ControlApi): Promise<void> {
      for (let at = 0; at < OLD.length; at += 50) await api.receive("src_a", OLD.slice(at, at + 50));
    }
    /** Publishes outcomes of messages from before the stream began, as delivery does. */
    async function drain(api: ControlApi, count: number): Promise<void> {
      const { items } = await api.store.log.find({}, { limit: OLD.length + 1 });
      const old = await Promise.all(
        items
          .filter(({ messageId }) => messageId.startsWith("old-"))
          .map(({ offset }) => api.store.log.get(offset)),
      );
      expect(old).toHaveLength(OLD.length);
      for (let index = 0; index < count; index++) {
        const stored = old[index % old.length] as StoredMessage;
        publishOutcome(api, stored.offset, stored.messageId, "delivered", stored);
      }
    }
    /** Simulates a busy log. */
    function slowLog(api: ControlApi): void {
      const get = api.store.log.get.bind(api.store.log);
      vi.spyOn(api.store.log, "get").mockImplementation(async (offset) => {
        await api.clock.sleep(10);
        return get(offset);
      });
    }

    it("shows a new message within a second, whatever outcomes flow, and those at their own pace", async () => {
      await using api = await controlApi();
      await receiveOld(api);
      await using stream = listen(api);
      await api.clock.advance(0);
      await drain(api, 100_000);
      slowLog(api);
      await api.clock.advance(0);
      await api.receive("src_a", [track("new")]);
      await api.clock.advance(1_000);
      expect(stream.received.filter(({ event }) => event.kind === "message")).toHaveLength(1);
      const shownFirst = stream.kinds().filter((kind) => kind === "outcome").length;
      await api.clock.advance(10_000);
      const shown = stream.kinds().filter((kind) => kind === "outcome").length;
      const dropped = stream.received.reduce(
        (sum, { event }) => sum + (event.kind === "dropped" ? event.outcomes : 0),
        0,
      );
      expect(shownFirst).toBeGreaterThan(0);
      expect(shown + dropped).toBe(100_000);
    });

    it.each(["user:tailer", '"tailer"'])(
      "is told nothing of outcomes that %s does not ask for",
      async (q) => {
        await using api = await controlApi();
        await receiveOld(api);
        await using stream = listen(api, { q });
        await api.clock.advance(0);
        const head = await api.receive("src_a", [{ ...track("new"), userId: "tailer" }]);
        const stored = await api.store.log.get(head as Offset);
        publishOutcome(api, head, "new", "delivered", stored);
        await drain(api, 100_000);
        await api.clock.advance(1_000);
        expect(stream.kinds()).toEqual(["message", "outcome"]);
      },
    );
  });

  it("sends refused messages", async () => {
    await using api = await controlApi();
    await using all = listen(api);
    await using refused = listen(api, { q: "outcome:rejected" });
    await using other = listen(api, { q: "type:identify" });
    await api.clock.advance(0);
    api.live.publish({
      kind: "rejected",
      rejection: { sourceId: "src_a", receivedAtMs: 0, issues: [], excerpt: '{"type":"track"}' },
    });
    await api.clock.advance(1_000);
    expect(all.kinds()).toEqual(["rejected"]);
    expect(refused.kinds()).toEqual(["rejected"]);
    expect(other.kinds()).toEqual([]);
  });

  it("goes on after Last-Event-ID, with nothing missed and nothing twice", async () => {
    await using api = await controlApi();
    let lastEventId: string | undefined;
    {
      await using first = listen(api);
      await api.clock.advance(0);
      await api.receive("src_a", [track("m-1"), track("m-2")]);
      await api.clock.advance(1_000);
      lastEventId = first.received.at(-1)?.id;
    }
    await api.store.consumers.open("dst_a", -1 as Offset);
    const head = await api.receive("src_a", [track("m-3")]);
    await api.store.consumers.settle("dst_a", {
      cursor: head,
      outcomes: [{ offset: head, state: "delivered", reason: "200", atMs: api.clock.now() }],
      retries: [],
      attempts: [],
    });
    if (lastEventId === undefined) throw new Error("no id came");
    await using second = listen(api, { lastEventId });
    await api.clock.advance(1_000);
    expect(second.received.map(({ event }) => event)).toMatchObject([
      { kind: "message", messageId: "m-3" },
      { kind: "outcome", messageId: "m-3", state: "delivered" },
    ]);
  });

  it("lets a slow reader fall behind without holding anything, then says how many it missed", async () => {
    await using api = await controlApi();
    let isSlow = true;
    await using stream = listen(api, { isSlow: () => isSlow });
    await api.clock.advance(0);
    for (let batch = 0; batch < 11; batch++)
      await api.receive(
        "src_a",
        Array.from({ length: 1_000 }, (_, i) => track(`m-${batch}-${i}`)),
      );
    for (let i = 0; i < 3_000; i++) publishOutcome(api, 0, "m-0-0", "failed");
    await api.clock.advance(1_000);
    expect(stream.received).toEqual([]);
    isSlow = false;
    stream.release();
    await api.clock.advance(10_000);
    const dropped = stream.received.flatMap(({ event }) => (event.kind === "dropped" ? [event] : []));
    expect(dropped).toEqual([
      { kind: "dropped", messages: 10_800, outcomes: 0 },
      { kind: "dropped", messages: 0, outcomes: 1_000 },
    ]);
    const messages = stream.received.filter(({ event }) => event.kind === "message");
    expect(messages).toHaveLength(200);
    expect(messages.at(-1)?.event).toMatchObject({ messageId: "m-10-999" });
  });

  it("decodes and writes a message once for all readers, and holds nothing when they are gone", async () => {
    await using api = await controlApi();
    const reads: number[] = [];
    const { log } = api.store;
    const counting: typeof log.read = (after, max) => {
      reads.push(after);
      return read.call(log, after, max);
    };
    const read = log.read;
    log.read = counting;
    {
      await using first = listen(api);
      await using second = listen(api, { q: "event:Paid" });
      await api.clock.advance(0);
      // Destinations read the log too: there is none.
      for (let i = 0; i < 5; i++) {
        await api.receive("src_a", [track(`m-${i}`)]);
        await api.clock.advance(150);
      }
      expect(first.ids()).toEqual(["m-0", "m-1", "m-2", "m-3", "m-4"]);
      expect(second.ids()).toEqual(first.ids());
      expect(reads).toHaveLength(5);
    }
    await api.receive("src_a", [track("m-5")]);
    await api.clock.advance(1_000);
    expect(reads).toHaveLength(5);
  });

  it("tells a reader that comes back how many outcomes it missed beside those it is shown", async () => {
    await using api = await controlApi();
    const since = `${await api.receive("src_a", [track("before")])}/${new Date(api.clock.now()).toISOString()}`;
    await api.store.consumers.open("dst_a", -1 as Offset);
    const ids = Array.from({ length: 700 }, (_, i) => `m-${i}`);
    const head = await api.receive(
      "src_a",
      ids.map((id) => track(id)),
    );
    await api.store.consumers.settle("dst_a", {
      cursor: head,
      outcomes: ids.map((_, i) => ({
        offset: (head - i) as Offset,
        state: "delivered",
        reason: "200",
        atMs: api.clock.now(),
      })),
      retries: [],
      attempts: [],
    });
    await using stream = listen(api, { lastEventId: since });
    await api.clock.advance(2_000);
    const shown = stream.kinds().filter((kind) => kind === "outcome").length;
    expect(shown).toBe(500);
    expect(stream.received.map(({ event }) => event).filter(({ kind }) => kind === "dropped")).toEqual([
      { kind: "dropped", messages: 0, outcomes: 200 },
    ]);
  });

  it("keeps an idle line open with comments", async () => {
    await using api = await controlApi();
    await using stream = listen(api);
    await api.clock.advance(61_000);
    expect(stream.comments.filter((comment) => comment === ":")).toHaveLength(4);
  });

  it("leaves no timer and no listener when its reader is gone", async () => {
    await using api = await controlApi();
    const timersBefore = api.clock.pending;
    {
      await using _stream = listen(api);
      await api.clock.advance(0);
      expect(api.live.watched).toBe(true);
    }
    expect(api.live.watched).toBe(false);
    expect(api.clock.pending).toBe(timersBefore);
  });

  it("refuses a filter that it cannot read", async () => {
    await using api = await controlApi();
    expect((await api.ask("GET", "/api/v1/live?q=colour%3Ared")).status).toBe(400);
  });
});
