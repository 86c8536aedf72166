import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { inflate } from "../../src/http/body/inflate.js";

const text = `{"batch":[]}${" ".repeat(100_000)}`;

test.each([
  ["gzip", gzipSync(text), 2_050],
  ["br", brotliCompressSync(text), 33],
] as const)(
  "of bodies in %s that arrive together more than can be unpacked soon are refused as overload, and the others unpacked",
  async (encoding, packed, taken) => {
    const results = await Promise.allSettled(
      Array.from({ length: taken + 20 }, () => inflate(packed, encoding, 200_000, true)),
    );
    const refused = results.slice(taken);
    expect(refused).toEqual(
      refused.map(() => ({ status: "rejected", reason: expect.objectContaining({ code: "overloaded" }) })),
    );
    for (const result of results.slice(0, taken))
      expect(result.status === "fulfilled" && result.value.toString() === text).toBe(true);
    expect((await inflate(packed, encoding, 200_000, true)).toString()).toBe(text);
  },
);

test("a flood of brotli bodies does not delay gzip bodies", async () => {
  const order: string[] = [];
  const flood = Array.from({ length: 30 }, async () => {
    await inflate(brotliCompressSync(text), "br", 200_000, true);
    order.push("br");
  });
  await inflate(gzipSync(text), "gzip", 200_000, true);
  order.push("gzip");
  await Promise.all(flood);
  expect(order.indexOf("gzip")).toBeLessThan(15);
});

test("a body that cannot be decompressed releases its place", async () => {
  const broken = Buffer.from("no gzip");
  for (let i = 0; i < 5; i++)
    await expect(inflate(broken, "gzip", 1_000, true)).rejects.toMatchObject({ code: "malformed_json" });
  for (let i = 0; i < 5; i++)
    await expect(inflate(gzipSync(text), "gzip", 1_000, true)).rejects.toMatchObject({
      code: "payload_too_large",
    });
  expect((await inflate(gzipSync(text), "gzip", 200_000, true)).toString()).toBe(text);
});

test("a flood of requests without a key does not delay requests with one", async () => {
  const order: string[] = [];
  const flood = Array.from({ length: 60 }, async () => {
    await inflate(brotliCompressSync(text), "br", 200_000, false);
    order.push("without");
  });
  await inflate(brotliCompressSync(text), "br", 200_000, true);
  order.push("with");
  await Promise.all(flood);
  expect(order.indexOf("with")).toBeLessThan(10);
});
