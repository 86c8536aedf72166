import { DOCUMENT_KINDS } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { SourceDocument } from "../../documents/documents.js";
import { newWriteKey } from "../../documents/new-id.js";
import { CollectorError } from "../../errors.js";
import { endpoint } from "../endpoint.js";
import { findSource } from "./find-source.js";
import { SourceSchema, sourceView } from "./source-schema.js";

/** More keys than this at one source are a loop that forgets to delete them. */
const MOST_WRITE_KEYS = 50;

export const addWriteKey = endpoint({
  name: "sources.addWriteKey",
  method: "POST",
  path: "/sources/:id/write-keys",
  summary: "Add a write key; the older ones stay valid until they are deleted",
  access: "write",
  answers: { status: 201, description: "The source with the new key as its last", schema: SourceSchema },
  errors: ["not_found", "conflict"],
  async handle({ params, token }, { store, clock, region }) {
    const source = await findSource(store.config, params.id);
    if (source.value.writeKeys.length >= MOST_WRITE_KEYS)
      throw new CollectorError("conflict", `it has ${MOST_WRITE_KEYS} write keys already: delete old ones`);
    const keyRegion = region === undefined ? undefined : (source.value.region ?? region);
    const key = { key: newWriteKey(keyRegion), createdAt: formatTime(clock.now()) };
    const changed: SourceDocument = { ...source.value, writeKeys: [...source.value.writeKeys, key] };
    const stored = await store.config.put(DOCUMENT_KINDS.source, source.id, changed, source.version);
    return { status: 201, body: sourceView(stored, token, region) };
  },
});
