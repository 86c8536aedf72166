import { isIP, type Socket } from "node:net";
import type { Connect } from "@sluice/destination";
import { type ConnectorOptions, checkedConnector } from "../../sender/checked-connector.js";

/** Connections for destinations from outside, only where the policy allows. */
export function checkedConnect(options: ConnectorOptions): Connect {
  const connector = checkedConnector(options);
  return async ({ host, port, tls = false, ca, signal }) => {
    signal?.throwIfAborted();
    const aborted = Promise.withResolvers<never>();
    let opening: Socket | undefined;
    const abort = (): void => {
      opening?.destroy();
      aborted.reject(signal?.reason);
    };
    const connected = new Promise<Socket>((resolve, reject) =>
      connector(
        { hostname: host, host, port: String(port), protocol: "http:" },
        (socket) => {
          opening = socket;
        },
        (...[error, socket]) => (error === null ? resolve(socket) : reject(error)),
      ),
    );
    const ready = tls
      ? connected.then((socket) => secured(socket, { host, ca, timeoutMs: options.timeoutMs }))
      : connected;
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([ready, aborted.promise]);
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  };
}

interface Securing {
  readonly host: string;
  readonly ca: string | undefined;
  readonly timeoutMs: number;
}

async function secured(socket: Socket, { host, ca, timeoutMs }: Securing): Promise<Socket> {
  // Few destinations need it, and it takes time at the start.
  const { connect: connectTls, getCACertificates } = await import("node:tls");
  return new Promise((resolve, reject) => {
    const encrypted = connectTls({
      socket,
      minVersion: "TLSv1.2",
      rejectUnauthorized: true,
      ...(isIP(host) === 0 ? { servername: host } : { host }),
      ...(ca === undefined ? {} : { ca: [...getCACertificates(), ca] }),
    });
    const fail = (error: Error): void => {
      encrypted.destroy();
      reject(error);
    };
    const onTimeout = (): void =>
      fail(Object.assign(new Error(`No TLS connection within ${timeoutMs} ms`), { code: "ETIMEDOUT" }));
    encrypted.setTimeout(timeoutMs, onTimeout);
    // Without an error if the connection below it is destroyed.
    const onClose = (): void => fail(new Error("The connection was closed before it was encrypted"));
    encrypted.once("error", fail);
    encrypted.once("close", onClose);
    encrypted.once("secureConnect", () => {
      encrypted.setTimeout(0);
      encrypted.off("close", onClose);
      encrypted.off("timeout", onTimeout);
      encrypted.off("error", fail);
      resolve(encrypted);
    });
  });
}
