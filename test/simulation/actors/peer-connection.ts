import {
  type OwnerConnection,
  originForm,
} from "../../../apps/collector/src/cluster/front/owner-connection.js";
import { NOT_OWNER_HEADER } from "../../../apps/collector/src/cluster/front/peer.js";
import type { Link } from "../world/link.js";
import type { MemoryServer, ServedAnswer, ServedRequest } from "./memory-server.js";

/** The connections to another process of the cluster, over a simulated network. `server`: what listens there now. */
export function peerConnection(
  address: string,
  link: Link,
  server: () => MemoryServer | undefined,
): OwnerConnection {
  const exchange = (request: ServedRequest, signal: AbortSignal): Promise<ServedAnswer | "refused" | "cut"> =>
    new Promise((resolve) => {
      const stop = link.exchange<ServedAnswer>(
        () => server()?.serve(request) ?? Promise.resolve("refused"),
        (end) => resolve(end.kind === "answered" ? end.answer : end.kind),
      );
      const onAbort = (): void => {
        stop();
        resolve("cut");
      };
      if (signal.aborted) onAbort();
      else signal.addEventListener("abort", onAbort, { once: true });
    });
  return {
    address,
    async passOn({ message, response, body, headers }, signal) {
      if (body.kind === "streamed") throw new Error("simulated bodies are small");
      const { method = "GET", url = "/" } = message;
      const answer = await exchange(
        {
          method,
          path: originForm(url),
          headers: byName(headers),
          body: body.kind === "kept" ? Uint8Array.from(body.bytes) : new Uint8Array(),
        },
        signal,
      );
      if (answer === "refused") return { kind: "not done", reason: answer };
      if (answer === "cut") return { kind: "lost", reason: answer };
      if (answer.headers[NOT_OWNER_HEADER] !== undefined) return { kind: "not done", reason: "not owner" };
      if (response.destroyed) return { kind: "answered" };
      const { connection: _, "keep-alive": __, "transfer-encoding": ___, ...passedBack } = answer.headers;
      response.writeHead(answer.status, passedBack);
      response.end(answer.body);
      return { kind: "answered" };
    },
    answers: () => {
      throw new Error("no simulated client asks for the health of a process");
    },
    close: () => {},
  };
}

/** Names and values by turns. */
function byName(headers: readonly string[]): Record<string, string> {
  const named: Record<string, string> = {};
  for (let i = 0; i + 1 < headers.length; i += 2) named[String(headers[i])] = String(headers[i + 1]);
  return named;
}
