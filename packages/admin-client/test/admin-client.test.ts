import { describe, expect, it } from "vitest";
import { AdminError, AdminUnreachable, adminClient, allPages } from "../src/index.js";

interface Seen {
  readonly url: string;
  readonly method: string | undefined;
  readonly body: unknown;
  readonly headers: Headers;
}

/** A client whose requests are kept, and answered by `answer`. */
function clientWith(answer: (seen: Seen) => Response | Promise<Response>) {
  const seen: Seen[] = [];
  const client = adminClient({
    url: "http://collector.test/",
    token: "slt_secret",
    fetch: async (input, init) => {
      const one: Seen = {
        url: String(input),
        method: init?.method,
        body: typeof init?.body === "string" ? JSON.parse(init.body) : undefined,
        headers: new Headers(init?.headers),
      };
      seen.push(one);
      return answer(one);
    },
  });
  return { client, seen };
}

describe("the admin client", () => {
  it("sends the token, the query without what is undefined, and the body as JSON", async () => {
    const { client, seen } = clientWith(() => Response.json({ items: [] }));
    await client.messages.list({ userId: "a b", type: undefined, limit: 2 });
    await client.sources.create({ name: "Shop" });
    expect(seen[0]?.url).toBe("http://collector.test/api/v1/messages?userId=a+b&limit=2");
    expect(seen[0]?.headers.get("authorization")).toBe("Bearer slt_secret");
    expect(seen[1]).toMatchObject({ method: "POST", body: { name: "Shop" } });
  });

  it("keeps an id that has slashes in its place of the path", async () => {
    const { client, seen } = clientWith(() => new Response(null, { status: 204 }));
    await client.sources.removeWriteKey("a/b", "?k");
    expect(seen[0]?.url).toBe("http://collector.test/api/v1/sources/a%2Fb/write-keys/%3Fk");
  });

  it("rejects with the answer's code and status", async () => {
    const { client } = clientWith(() =>
      Response.json(
        { success: false, code: "conflict", message: "conflict: no", version: 3 },
        { status: 409 },
      ),
    );
    const error = await client.sources.get("x").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(AdminError);
    expect(error).toMatchObject({ code: "conflict", status: 409, details: { version: 3 } });
  });

  it("says what it can of an answer that is no JSON", async () => {
    const { client } = clientWith(() => new Response("<h1>Bad gateway</h1>", { status: 502 }));
    await expect(client.info()).rejects.toMatchObject({ status: 502, code: "unknown" });
  });

  it("tells an address where nothing answers from an error", async () => {
    const { client } = clientWith(() => {
      throw new TypeError("fetch failed", {
        cause: Object.assign(new Error("no"), { code: "ECONNREFUSED" }),
      });
    });
    await expect(client.info()).rejects.toThrow(AdminUnreachable);
    await expect(client.info()).rejects.toThrow("ECONNREFUSED");
  });

  it("walks all pages", async () => {
    const { client } = clientWith(({ url }) =>
      Response.json(url.includes("cursor=2") ? { items: [3] } : { items: [1, 2], nextCursor: "2" }),
    );
    const items: unknown[] = [];
    for await (const item of allPages((cursor) => client.sources.list({ cursor }))) items.push(item);
    expect(items).toEqual([1, 2, 3]);
  });

  it("reads the live stream however it is cut, and skips comments", async () => {
    const text =
      'retry: 1000\n\n: still here\n\nid: 7\nevent: message\ndata: {"kind":"dropped","messages":ä}\n\n';
    const bytes = new TextEncoder().encode(text.replace("ä", "1"));
    for (const size of [1, 7, 1_000]) {
      const { client, seen } = clientWith(
        () =>
          new Response(
            new ReadableStream({
              start(controller) {
                for (let at = 0; at < bytes.length; at += size)
                  controller.enqueue(bytes.slice(at, at + size));
                controller.close();
              },
            }),
          ),
      );
      const items: unknown[] = [];
      for await (const item of client.live({ q: "type:track", lastEventId: "6" })) items.push(item);
      expect(items).toEqual([{ id: "7", event: { kind: "dropped", messages: 1 } }]);
      expect(seen[0]?.headers.get("last-event-id")).toBe("6");
    }
  });
});
