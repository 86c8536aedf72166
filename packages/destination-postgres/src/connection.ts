import type { Socket } from "node:net";
import { isIP } from "node:net";
import { connect as connectTls, rootCertificates } from "node:tls";
import type { Connect } from "@sluice/destination";
import { Client } from "pg";
import type { PostgresSettings } from "./settings.js";

/** Asks a server for TLS: the length of the message, and the code that stands for this. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** A connection to the server, logged in. */
export async function connected(
  settings: PostgresSettings,
  connect: Connect,
  signal: AbortSignal,
): Promise<Client> {
  const { host, port, database, user, password, security } = settings;
  const plain = await connect({ host, port, signal });
  const stop = (): void => void plain.destroy(new Error("aborted"));
  signal.addEventListener("abort", stop, { once: true });
  try {
    const stream = security === "tls" ? await encrypted(plain, settings) : plain;
    const client = new Client({
      user,
      database,
      ...(password === undefined ? {} : { password }),
      ssl: false,
      application_name: "sluice",
      stream: () => alreadyConnected(stream),
    });
    // After the connection is lost, without a query. The next query fails.
    client.on("error", () => {});
    await client.connect();
    return client;
  } catch (error) {
    plain.destroy();
    throw error;
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** The client tells its stream to connect. This one is. */
function alreadyConnected(stream: Socket): Socket {
  const connect = (): Socket => {
    process.nextTick(() => stream.emit("connect"));
    return stream;
  };
  return Object.assign(stream, { connect });
}

async function encrypted(plain: Socket, { host, ca }: PostgresSettings): Promise<Socket> {
  plain.write(SSL_REQUEST);
  const answer = await firstByte(plain);
  if (answer !== "S")
    throw Object.assign(
      new Error("The server does not offer TLS: turn it on there, or set security to none"),
      {
        code: "no_tls",
      },
    );
  return new Promise((resolve, reject) => {
    const socket = connectTls({
      socket: plain,
      minVersion: "TLSv1.2",
      ...(isIP(host) === 0 ? { servername: host } : { host }),
      ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
    });
    const fail = (error?: Error): void => reject(error ?? new Error("The connection was closed"));
    socket.once("error", fail);
    plain.once("close", fail);
    socket.once("secureConnect", () => {
      socket.off("error", fail);
      plain.off("close", fail);
      resolve(socket);
    });
  });
}

function firstByte(socket: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (error?: Error): void => reject(error ?? new Error("The server closed the connection"));
    socket.once("error", fail);
    socket.once("close", fail);
    socket.once("readable", () => {
      socket.off("error", fail);
      socket.off("close", fail);
      resolve(String(socket.read(1)));
    });
  });
}
