import { type NatsConnection, NatsConnectionImpl } from "@nats-io/transport-node";

/**
 * Cuts the connection to a server that answers nothing any more, so that the client goes on to the next one. The client itself first waits
 * until everything was handed to the kernel, and the buffers of a server that is stopped, or of a machine that is gone, may be full.
 * Resolves when the connection is closed for good.
 */
export async function leaveSilentServers(connection: NatsConnection): Promise<void> {
  if (!(connection instanceof NatsConnectionImpl)) return;
  for await (const { type } of connection.status()) {
    if (type === "staleConnection")
      await connection.protocol.transport.close(new Error("the server does not answer"));
  }
}
