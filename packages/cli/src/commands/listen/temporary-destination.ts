import { once } from "node:events";
import { createConnection } from "node:net";
import { type AdminClient, allPages } from "@sluice/admin-client";
import { collect } from "../../connection/collect.js";
import { type ConnectionOptions, connect } from "../../connection/connection.js";
import type { Io } from "../../terminal/io.js";
import { terminalText } from "../../terminal/terminal-text.js";

/** The names of destinations that this command creates start with it; the URL follows. */
const NAME_PREFIX = "sluice listen ";

/** Creates a destination that is connected to all sources. Returns a function that deletes it. */
export async function createTemporaryDestination(
  url: string,
  secret: string,
  options: ConnectionOptions,
  io: Io,
): Promise<() => Promise<void>> {
  const client = await connect(options, io);
  await removeStale(client, url, io);
  const sources = await collect((cursor) => client.sources.list({ cursor }));
  const { id } = await client.destinations.create({
    type: "webhooks",
    name: `${NAME_PREFIX}${url}`,
    sourceIds: sources.map((source) => source.id),
    settings: { webhooks: [{ url }], sharedSecret: secret },
  });
  return () => client.destinations.delete(id);
}

/** Deletes destinations that a killed `listen --connect` left behind: those with our URL, and those where no process listens. */
async function removeStale(client: AdminClient, ownUrl: string, io: Io): Promise<void> {
  const temporary: { id: string; url: string }[] = [];
  for await (const { id, name } of allPages((cursor) => client.destinations.list({ cursor })))
    if (name.startsWith(NAME_PREFIX)) temporary.push({ id, url: name.slice(NAME_PREFIX.length) });
  for (const { id, url } of temporary) {
    if (url !== ownUrl && !(await refusesConnections(url))) continue;
    await client.destinations.delete(id);
    io.err(
      `${io.errStyle.dim(terminalText(`removed the destination of an earlier sluice listen on ${url}`))}\n`,
    );
  }
}

const CONNECT_TIMEOUT_MS = 2_000;

/** Whether connections to a URL are refused. A timeout does not count: a firewall may cause it. */
async function refusesConnections(url: string): Promise<boolean> {
  if (!URL.canParse(url)) return false;
  const { hostname, port } = new URL(url);
  const socket = createConnection({ host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) });
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(CONNECT_TIMEOUT_MS) });
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ECONNREFUSED";
  } finally {
    socket.destroy();
  }
}
