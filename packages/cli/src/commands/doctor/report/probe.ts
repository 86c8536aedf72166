import type { Io } from "../../../terminal/io.js";
import { failureCode } from "./failure-code.js";

const TIMEOUT_MS = 5_000;
const ROUNDS = 5;

export interface Probe {
  /** The HTTP status, or a code of the error. */
  readonly result: number | string;
  /** Why it is not ready, such as `overloaded`. */
  readonly reason?: string;
  /** Each request's time until its response, in milliseconds. */
  readonly tookMs: readonly number[];
}

/** Requests a path a few times, one after the other, until one fails. */
export async function probe(url: string, path: "/healthz" | "/readyz", io: Io): Promise<Probe> {
  const tookMs: number[] = [];
  let last: Omit<Probe, "tookMs"> = { result: "unknown" };
  for (let round = 0; round < ROUNDS; round++) {
    const startMs = io.monotonic();
    last = await request(`${url}${path}`);
    if (typeof last.result === "string") break;
    tookMs.push(Math.round((io.monotonic() - startMs) * 10) / 10);
  }
  return { ...last, tookMs };
}

async function request(address: string): Promise<Omit<Probe, "tookMs">> {
  try {
    const response = await fetch(address, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: "manual",
    });
    const body: unknown = await response.json().catch(() => undefined);
    const reason = (body as { readonly reason?: unknown } | undefined | null)?.reason;
    return {
      result: response.status,
      ...(typeof reason === "string" && /^[a-z_]{1,40}$/.test(reason) ? { reason } : {}),
    };
  } catch (error) {
    return { result: failureCode(error) };
  }
}
