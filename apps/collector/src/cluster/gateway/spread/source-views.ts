import type { EventListView, UsageView } from "@sluice/control-api";
import { partitionsOf } from "../../../documents/source-partitions.js";
import { CollectorError } from "../../../errors.js";
import type { Handler, HttpRequest, Route } from "../../../http/routing/route.js";
import type { ControlSources } from "../../documents/control-sources.js";
import { asControlApi } from "../as-control-api.js";
import { answerOf, type Owners, type PartAnswer } from "../ask-owners.js";
import { mergeEvents, mergeUsage } from "./merge-source-views.js";

const API = "/api/v1";
const DEFAULT_LIMIT = 50;

type PlaceOfSource = Pick<ControlSources, "placeOfSource">;

/** What the control API says about one source that is spread over several partitions. */
export function sourceViewRoutes(sources: () => PlaceOfSource, owners: Owners): readonly Route[] {
  const partitionsIn = ({ params: { id = "" } }: HttpRequest): readonly number[] =>
    partitionsOf(sources().placeOfSource(id) ?? {}, owners.partitions.length);
  const usage: Handler = async (request) => {
    const answers = await Promise.all(
      partitionsIn(request).map((partition) =>
        owners.ask(partition, request, { path: pathWith(request, {}) }),
      ),
    );
    return (
      refused(answers) ?? { status: 200, body: mergeUsage(answers.map(({ body }) => body as UsageView)) }
    );
  };
  const events: Handler = async (request) => {
    const partitions = partitionsIn(request);
    const cursors = readCursors(request.query.get("cursor"), partitions.length);
    const limit = Number(request.query.get("limit") ?? DEFAULT_LIMIT);
    const answers = await Promise.all(
      partitions.map((partition, at) =>
        owners.ask(partition, request, { path: pathWith(request, { cursor: cursors[at] || undefined }) }),
      ),
    );
    const refusal = refused(answers);
    if (refusal !== undefined) return refusal;
    const parts = answers.map(({ body }) => body as EventListView);
    const { places, ...list } = mergeEvents(parts, limit);
    const next = places?.map((place, at) => place ?? cursors[at] ?? "");
    return { status: 200, body: { ...list, ...(next === undefined ? {} : { nextCursor: written(next) }) } };
  };
  return asControlApi([
    { path: `${API}/sources/:id/usage`, methods: { GET: usage } },
    { path: `${API}/sources/:id/events`, methods: { GET: events } },
  ]);
}

function refused(answers: readonly PartAnswer[]) {
  const refusal = answers.find(({ status }) => status !== 200);
  return refusal === undefined ? undefined : answerOf(refusal);
}

function pathWith(
  { path, query }: HttpRequest,
  { cursor }: { readonly cursor?: string | undefined },
): string {
  const asked = new URLSearchParams(query);
  asked.delete("cursor");
  if (cursor !== undefined) asked.set("cursor", cursor);
  return asked.size === 0 ? path : `${path}?${asked}`;
}

/** The cursors of the partitions; an empty one is the beginning. */
function readCursors(cursor: string | null, count: number): readonly string[] {
  if (cursor === null) return Array.from({ length: count }, () => "");
  try {
    const read: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString("utf8"));
    if (Array.isArray(read) && read.length === count && read.every((one) => typeof one === "string"))
      return read;
  } catch {
    // Below.
  }
  throw new CollectorError("invalid_request", `${JSON.stringify(cursor)} is not a cursor of this list`);
}

function written(cursors: readonly string[]): string {
  return Buffer.from(JSON.stringify(cursors)).toString("base64url");
}
