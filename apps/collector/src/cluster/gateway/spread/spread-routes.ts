import { LIMITS, MESSAGE_KINDS, type MessageKind } from "@sluice/protocol";
import type { Handler, Route } from "../../../http/routing/route.js";
import { PIXEL_GIF, pixelBody } from "../../../ingest/pixel.js";
import { BATCH_PATHS, kindNamed, SHORT_NAMES } from "../../../ingest/routes.js";
import type { TakeMessages } from "./take-messages.js";

/** The addresses at which the messages of spread sources arrive: those of ingestion. */
export function spreadRoutes(take: TakeMessages): readonly Route[] {
  const batch: Handler = (request) =>
    take(request, {
      path: "/v1/batch",
      kind: undefined,
      readBody: () => request.readBody(LIMITS.batchBytes),
    });
  const beacon: Handler = (request) =>
    take(request, {
      path: pathWithQuery(request.path, request.query),
      kind: undefined,
      writeKey: request.query.get("writeKey") || undefined,
      readBody: () => request.readBody(LIMITS.batchBytes),
    });
  const one =
    (kind: MessageKind): Handler =>
    (request) =>
      take(request, {
        path: `/v1/${kind}`,
        kind,
        readBody: () => request.readBody(LIMITS.messageBytes),
      });
  /** Always responds with the image, as the collector does. */
  const pixel: Handler = async (request) => {
    const kind = kindNamed(request.params.kind);
    const image = {
      status: 200,
      headers: { "content-type": "image/gif", "cache-control": "no-store, max-age=0" },
      body: PIXEL_GIF,
    };
    if (kind === undefined) return image;
    const body = pixelBody(request.query.get("data"));
    await take(request, { path: `/v1/${kind}`, kind, readBody: () => body }).catch(() => {});
    return image;
  };
  const cors = true;
  return [
    ...BATCH_PATHS.map((path) => ({ path, cors, methods: { POST: batch } })),
    { path: "/beacon/v1/batch", cors, methods: { POST: beacon } },
    ...MESSAGE_KINDS.flatMap((kind) =>
      [kind, SHORT_NAMES[kind]].map((name) => ({ path: `/v1/${name}`, cors, methods: { POST: one(kind) } })),
    ),
    { path: "/v1/pixel/:kind", cors, methods: { GET: pixel } },
  ];
}

function pathWithQuery(path: string, query: URLSearchParams): string {
  return query.size === 0 ? path : `${path}?${query}`;
}
