import type { IncomingMessage } from "node:http";
import { CollectorError } from "../errors.js";
import type { BufferBudget } from "./buffer-budget.js";
import { COMPRESSION_OVERHEAD_BYTES, inflate, looksGzipped, parseEncoding } from "./inflate.js";

/** What of the budget a request took; to be given back when it is answered. */
export interface Reservation {
  bytes: number;
}

/** The body, unpacked; see `HttpRequest.readBody`. Whatever it takes of the budget is noted in `reservation` as it goes. */
export async function readBody(
  request: IncomingMessage,
  limitBytes: number,
  budget: BufferBudget,
  reservation: Reservation,
): Promise<Uint8Array> {
  const encoding = parseEncoding(request.headers["content-encoding"]);
  if (encoding === undefined)
    throw new CollectorError(
      "unsupported_encoding",
      String(request.headers["content-encoding"]).slice(0, 64),
    );
  const wireLimit = encoding === "identity" ? limitBytes : limitBytes + COMPRESSION_OVERHEAD_BYTES;
  const raw = await collect(request, wireLimit, budget, reservation);
  const actual = encoding === "identity" && looksGzipped(raw) ? "gzip" : encoding;
  if (actual === "identity") return raw;
  const body = await inflate(raw, actual, limitBytes);
  reserve(budget, reservation, body.length);
  return body;
}

function reserve(budget: BufferBudget, reservation: Reservation, bytes: number): void {
  if (!budget.take(bytes)) throw new CollectorError("overloaded");
  reservation.bytes += bytes;
}

function collect(
  request: IncomingMessage,
  limitBytes: number,
  budget: BufferBudget,
  reservation: Reservation,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const tooLarge = (): CollectorError =>
      new CollectorError("payload_too_large", `more than ${limitBytes} bytes`);
    // Believed only to refuse early: what really arrives is counted all the same.
    if (Number(request.headers["content-length"]) > limitBytes) {
      reject(tooLarge());
      return;
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    const stop = (): void => {
      request.off("data", onData);
      request.off("end", onEnd);
      request.off("close", onClose);
    };
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length;
      try {
        if (bytes > limitBytes) throw tooLarge();
        reserve(budget, reservation, chunk.length);
      } catch (error) {
        stop();
        reject(error);
        return;
      }
      chunks.push(chunk);
    };
    const onEnd = (): void => {
      stop();
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes));
    };
    const onClose = (): void => {
      stop();
      reject(new CollectorError("request_timeout", "the connection ended before the body did"));
    };
    request.on("data", onData);
    request.on("end", onEnd);
    request.on("close", onClose);
  });
}
