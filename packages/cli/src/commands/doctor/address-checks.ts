import { createConnection } from "node:net";
import { findWriteKey, type WriteKeyOptions } from "../../connection/connection.js";
import { isLoopbackUrl } from "../../connection/listening-file.js";
import type { Io } from "../../terminal/io.js";
import type { Check } from "./check.js";

const TIMEOUT_MS = 5_000;

/** A collector that is not ready still says why. */
export type AddressCheck = { readonly check: Check; readonly responds: boolean };

/** Checks that a collector responds at the address. */
export async function checkAddress(url: string): Promise<AddressCheck> {
  const name = "address";
  const { hostname, port, protocol } = new URL(url);
  const portNumber = Number(port === "" ? (protocol === "https:" ? 443 : 80) : port);
  const failure = await tryToConnect(hostname.replace(/^\[|\]$/g, ""), portNumber);
  if (failure !== undefined)
    return {
      check: {
        name,
        result: "problem",
        message: `${url} cannot be reached: ${failure}`,
        hint:
          failure === "ECONNREFUSED"
            ? "No process listens there. Start a collector with `npx sluice dev`, or give another address with --url"
            : "Check the name, the network and any firewalls in between",
      },
      responds: false,
    };
  try {
    const response = await fetch(`${url}/readyz`, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: "manual",
    });
    if (response.ok) return { check: { name, result: "ok", message: `${url} is ready` }, responds: true };
    const responds = response.status === 503;
    const { reason } = (await response.json().catch(() => ({}))) as { reason?: unknown };
    const why = typeof reason === "string" ? `: ${reason}` : "";
    return {
      check: {
        name,
        result: "problem",
        message: `${url} responds with ${response.status} at /readyz${why}`,
        hint: responds
          ? "The collector is running but should get no messages now"
          : "Check that it is a Sluice collector",
      },
      responds,
    };
  } catch (error) {
    const message = `${url} does not respond to HTTP requests: ${String(error)}`;
    return {
      check: { name, result: "problem", message, hint: "Check that it is a Sluice collector" },
      responds: false,
    };
  }
}

/** Resolves with the error code, or with undefined if the connection succeeded. */
function tryToConnect(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port, timeout: TIMEOUT_MS });
    const end = (failure: string | undefined): void => {
      socket.destroy();
      resolve(failure);
    };
    socket.once("connect", () => end(undefined));
    socket.once("timeout", () => end("ETIMEDOUT"));
    socket.once("error", (error: NodeJS.ErrnoException) => end(error.code ?? error.message));
  });
}

/** Checks the write key, and what browsers are told about the address. */
export async function checkWriteKey(options: WriteKeyOptions, url: string, io: Io): Promise<Check[]> {
  let writeKey: string;
  try {
    writeKey = await findWriteKey(options, io);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return [{ name: "write key", result: "skipped", message }];
  }
  const accepted = await sendEmptyBatch(writeKey, url);
  return accepted.result === "ok" ? [accepted, await checkProxy(writeKey, url)] : [accepted];
}

async function sendEmptyBatch(writeKey: string, url: string): Promise<Check> {
  const name = "write key";
  const response = await fetch(`${url}/v1/batch`, {
    method: "POST",
    headers: {
      authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`,
      "content-type": "application/json",
    },
    body: '{"batch":[]}',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  }).catch((error: unknown) => String(error));
  if (typeof response === "string") return { name, result: "problem", message: response };
  const body = (await response.json().catch(() => ({}))) as { message?: string };
  // If the empty batch itself is refused, the key was accepted before.
  if (response.ok || response.status === 400)
    return { name, result: "ok", message: "the collector accepts it" };
  return {
    name,
    result: "problem",
    message: body.message ?? `the collector responded with ${response.status}`,
    ...(response.status === 401 ? { hint: "`npx sluice sources list` shows the valid keys" } : {}),
  };
}

/** Checks that browsers are told an address that they can use. Behind a proxy, the collector may not know its own. */
async function checkProxy(writeKey: string, url: string): Promise<Check> {
  try {
    const response = await fetch(`${url}/v1/projects/${encodeURIComponent(writeKey)}/settings`, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const { integrations = {} } = (await response.json()) as {
      integrations?: Record<string, { protocol?: string; apiHost?: string }>;
    };
    const { protocol, apiHost } = integrations["Segment.io"] ?? {};
    return judgeProxy(new URL(url), new URL(`${protocol}://${apiHost}`));
  } catch (error) {
    return {
      name: "proxy",
      result: "problem",
      message: `the settings of browsers cannot be read: ${String(error)}`,
    };
  }
}

/** `told`: what browsers that reach the collector at `asked` are told. */
export function judgeProxy(asked: URL, told: URL): Check {
  const name = "proxy";
  const message = `browsers are told to send to ${told.origin}`;
  const isInsecure = asked.protocol === "https:" && told.protocol === "http:";
  const isElsewhere = isLoopbackUrl(told.href) && !isLoopbackUrl(asked.href);
  if (!isInsecure && !isElsewhere) return { name, result: "ok", message };
  return {
    name,
    result: "problem",
    message: `${message}, which ${isInsecure ? "they block on pages with https" : "is their own machine"}`,
    hint: "Set SLUICE_TRUSTED_PROXIES=1 and let the proxy send X-Forwarded-Proto and Host (or Forwarded, with SLUICE_PROXY_HEADERS=forwarded), or set SLUICE_PUBLIC_URL",
  };
}
