import type { buildConnector as BuildConnector, Client as UndiciClient } from "undici";
// Loads only these parts: all of undici (fetch, WebSocket, caches) takes twice the time and 14 MB more. The version is pinned.
// @ts-expect-error undici's types do not have this path.
import untypedBuildConnector from "undici/lib/core/connect.js";
// @ts-expect-error undici's types do not have this path.
import untypedClient from "undici/lib/dispatcher/client.js";

export const buildConnector: typeof BuildConnector = untypedBuildConnector;
export const Client: typeof UndiciClient = untypedClient;
