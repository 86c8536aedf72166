import { DOCUMENT_KINDS } from "@sluice/event-log";
import type { SourceDocument } from "../../documents/documents.js";
import { endpoint } from "../endpoint.js";
import { findToChange } from "../find-to-change.js";
import { findSource } from "./find-source.js";
import { SourcePatchSchema, SourceSchema, sourceView } from "./source-schema.js";

export const patchSource = endpoint({
  name: "sources.patch",
  method: "PATCH",
  path: "/sources/:id",
  summary: "Rename a source, block track events by name, limit its rate, say which ids it may join",
  access: "write",
  body: SourcePatchSchema,
  answers: { status: 200, description: "The source as it is now", schema: SourceSchema },
  errors: ["not_found", "conflict", "precondition_failed"],
  async handle(request, { store, region }) {
    const { body, token } = request;
    const source = await findToChange(findSource, store.config, request);
    const { rateLimit: oldLimit, identity: oldIdentity, ...rest } = source.value;
    const rateLimit = body.rateLimit === undefined ? oldLimit : (body.rateLimit ?? undefined);
    const identity = body.identity === undefined ? oldIdentity : (body.identity ?? undefined);
    const changed: SourceDocument = {
      ...rest,
      ...(body.name === undefined ? {} : { name: body.name }),
      ...(body.blockedEvents === undefined ? {} : { blockedEvents: body.blockedEvents }),
      ...(rateLimit === undefined ? {} : { rateLimit }),
      ...(identity === undefined ? {} : { identity }),
    };
    const stored = await store.config.put(DOCUMENT_KINDS.source, source.id, changed, source.version);
    return { status: 200, body: sourceView(stored, token, region) };
  },
});
