import type { ConfigStore, Versioned } from "@sluice/event-log";
import { DOCUMENT_KINDS } from "@sluice/event-log";
import { formatTime, type Region, type SourceInput } from "@sluice/protocol";
import type { SourceDocument } from "../../documents/documents.js";
import { newId, newWriteKey } from "../../documents/new-id.js";
import { endpoint } from "../endpoint.js";
import { SourceInputSchema, SourceSchema, sourceView } from "./source-schema.js";

export const createSource = endpoint({
  name: "sources.create",
  method: "POST",
  path: "/sources",
  summary: "Make a source, with its first write key",
  access: "write",
  body: SourceInputSchema,
  answers: { status: 201, description: "The source", schema: SourceSchema },
  async handle({ body, token }, { store, clock, region }) {
    const source = await newSource(store.config, body, region, clock.now());
    return { status: 201, body: sourceView(source, token, region) };
  },
});

/** Stores a source with its first write key. */
export async function newSource(
  config: ConfigStore,
  input: SourceInput,
  region: Region | undefined,
  nowMs: number,
): Promise<Versioned<SourceDocument>> {
  const createdAt = formatTime(nowMs);
  return config.put<SourceDocument>(
    DOCUMENT_KINDS.source,
    newId("src"),
    {
      name: input.name,
      kind: input.kind ?? "server",
      createdAt,
      writeKeys: [{ key: newWriteKey(region), createdAt }],
      blockedEvents: input.blockedEvents ?? [],
      ...(input.rateLimit === undefined ? {} : { rateLimit: input.rateLimit }),
      ...(input.identity === undefined ? {} : { identity: input.identity }),
      ...(region === undefined ? {} : { region }),
    },
    0,
  );
}
