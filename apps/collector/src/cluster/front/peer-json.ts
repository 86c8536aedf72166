import type { HttpRequest } from "../../http/routing/route.js";
import type { Front } from "./front.js";
import type { AskedRequest, OwnerConnection } from "./owner-connection.js";
import { peerHeaders } from "./peer.js";

/** A call of this process, for no client. `path`: of a route that only processes of the cluster may use. */
export function peerJson(path: string, body: object, token: string): AskedRequest {
  return {
    ...{ method: "POST", path, body: Buffer.from(JSON.stringify(body)) },
    headers: peerHeaders({ client: "", listener: "public" }, token),
  };
}

/** The body of such a call. */
export async function readPeerJson<T>(request: HttpRequest, limitBytes: number): Promise<T> {
  request.vouch();
  return JSON.parse(Buffer.from(await request.readBody(limitBytes)).toString("utf8")) as T;
}

/** The connection to the owner of a partition, which may be this process. Undefined: there is none. */
export function connectionTo(
  front: Pick<Front, "target" | "self">,
  partition: number,
): OwnerConnection | undefined {
  const target = front.target(partition);
  if (target.kind === "none") return undefined;
  return target.kind === "here" ? front.self() : target.connection;
}
