import {
  brotliCompressSync,
  brotliDecompressSync,
  deflateRawSync,
  deflateSync,
  gunzipSync,
  gzipSync,
  inflateRawSync,
  inflateSync,
} from "node:zlib";
import { expect } from "vitest";
import { CollectorError } from "../../../../apps/collector/src/errors.js";
import { type Encoding, inflate, parseEncoding } from "../../../../apps/collector/src/http/body/inflate.js";
import { textTarget } from "../../engine/target.js";

const LIMIT_BYTES = 2_000;
const SEED_BODY = Buffer.from('{"batch":[{"type":"page","userId":"u1","messageId":"m-1"}]}');
const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");

/** What the first byte of an input stands for. */
const ENCODINGS: readonly Encoding[] = ["gzip", "deflate", "br", "identity"];
/** What Node makes of complete data, in one go. */
const WHOLE: Readonly<Record<Encoding, (body: Buffer) => Buffer>> = {
  gzip: (body) => gunzipSync(body),
  deflate: (body) => ((body[0] ?? 0) % 16 === 8 ? inflateSync(body) : inflateRawSync(body)),
  br: (body) => brotliDecompressSync(body),
  identity: (body) => body,
};

export const inflating = textTarget({
  name: "inflate",
  rule: "a body is decompressed to what zlib makes of it, or refused as too large or damaged; never more than the limit",
  runs: 800,
  alphabet: "bytes",
  dictionary: [
    latin1(gzipSync(SEED_BODY)),
    latin1(deflateSync(SEED_BODY)),
    latin1(deflateRawSync(SEED_BODY)),
    latin1(brotliCompressSync(SEED_BODY)),
    latin1(gzipSync(Buffer.alloc(100_000))),
    latin1(deflateSync(Buffer.alloc(100_000))),
    latin1(brotliCompressSync(Buffer.alloc(100_000))),
    "\x1f\x8b\x08",
  ],
  maxLength: 1_000,
  isLinear: false,
  async check(text) {
    parseEncoding(text);
    const encoding = ENCODINGS[text.charCodeAt(0) % 4] ?? "gzip";
    const body = Buffer.from(text.slice(1), "latin1");
    try {
      const inflated = await inflate(body, encoding, LIMIT_BYTES, true);
      if (encoding !== "identity") expect(inflated.length).toBeLessThanOrEqual(LIMIT_BYTES);
      expect(inflated.equals(WHOLE[encoding](body))).toBe(true);
    } catch (error) {
      if (!(error instanceof CollectorError)) throw error;
      expect(["payload_too_large", "malformed_json"]).toContain(error.code);
    }
  },
});
