import { brotliCompressSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { inflate } from "../../src/http/inflate.js";

const text = `{"batch":[]}${" ".repeat(100_000)}`;

test("of bodies that arrive together more than can be unpacked soon are refused as overload, and the others unpacked", async () => {
  const packed = [gzipSync(text), brotliCompressSync(text)] as const;
  const results = await Promise.allSettled(
    Array.from({ length: 350 }, (_, i) => inflate(packed[i % 2] as Buffer, i % 2 ? "br" : "gzip", 200_000)),
  );
  const refused = results.slice(258);
  expect(refused).toEqual(
    refused.map(() => ({ status: "rejected", reason: expect.objectContaining({ code: "overloaded" }) })),
  );
  for (const result of results.slice(0, 258))
    expect(result.status === "fulfilled" && result.value.toString()).toBe(text);
  expect((await inflate(packed[0], "gzip", 200_000)).toString()).toBe(text);
});

test("a body that cannot be unpacked gives its place to the next", async () => {
  const broken = Buffer.from("no gzip");
  for (let i = 0; i < 5; i++)
    await expect(inflate(broken, "gzip", 1_000)).rejects.toMatchObject({ code: "malformed_json" });
  for (let i = 0; i < 5; i++)
    await expect(inflate(gzipSync(text), "gzip", 1_000)).rejects.toMatchObject({ code: "payload_too_large" });
  expect((await inflate(gzipSync(text), "gzip", 200_000)).toString()).toBe(text);
});
