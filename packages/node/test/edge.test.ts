import { fakeCollector, memoryTransport } from "@sluice/testing";
import { describe, expect, it, vi } from "vitest";
import * as edge from "../src/edge.js";
import * as node from "../src/index.js";

const { Analytics, ConfigError, undiciTransport } = edge;

describe("the build for edge runtimes", () => {
  it("exports the same names", () => {
    expect(Object.keys(edge).sort()).toEqual(Object.keys(node).sort());
  });

  it("sends, compressed and with ids, without anything of Node.js", async () => {
    const collector = fakeCollector({ writeKey: "k" });
    vi.stubGlobal("process", undefined);
    try {
      const analytics = new Analytics({ writeKey: "k", gzip: true, transport: memoryTransport(collector) });
      analytics.track({ userId: "u", event: "E" });
      expect(await analytics.close()).toEqual({ delivered: 1, failed: 0, refused: 0 });
    } finally {
      vi.unstubAllGlobals();
    }
    expect(collector.requests[0]?.headers["content-encoding"]).toBe("gzip");
    expect(collector.messages[0]?.messageId).toMatch(/^[\da-f]{8}-[\da-f]{4}-4/);
  });

  it("refuses options that need a process, with a ConfigError", () => {
    expect(() => new Analytics({ writeKey: "k", spool: { directory: "/tmp" } })).toThrow(ConfigError);
    expect(() => new Analytics({ writeKey: "k", spool: { directory: "/tmp" } })).toThrow(/`spool`/);
    expect(() => new Analytics({ writeKey: "k", flushOnSignals: true })).toThrow(/`flushOnSignals`/);
    expect(() => undiciTransport()).toThrow(/`transport`.*fetchTransport/);
    expect(
      () => new Analytics({ writeKey: "k", flushOnSignals: false, exitFlushTimeoutMs: 5 }),
    ).not.toThrow();
  });

  it("neither throws nor loses a message where timers and random bytes are refused", async () => {
    const collector = fakeCollector({ writeKey: "k" });
    const refuse = () => {
      throw new Error("Disallowed operation called within global scope");
    };
    vi.stubGlobal("EdgeRuntime", "edge-runtime");
    const analytics = new Analytics({ writeKey: "k", transport: memoryTransport(collector) });
    vi.stubGlobal("setTimeout", refuse);
    vi.stubGlobal("crypto", { getRandomValues: refuse });
    try {
      expect(analytics.track({ userId: "u", event: "E" })).toMatchObject({ accepted: true });
      expect(await analytics.flush()).toEqual({ delivered: 0, failed: 0, refused: 0, queued: 1 });
    } finally {
      vi.unstubAllGlobals();
    }
    expect(await analytics.close()).toEqual({ delivered: 1, failed: 0, refused: 0 });
    expect(collector.messages).toHaveLength(1);
  });
});
