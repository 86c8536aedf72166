import { type Static, Type } from "@sinclair/typebox";
import type { AuditEntryView } from "@sluice/protocol";
import { auditLog } from "../audit-log.js";
import { endpoint } from "../endpoint.js";
import { listOf, listParameters } from "../list-query.js";
import { maskFor } from "../mask-for.js";
import type { SameShape } from "../same-shape.js";

const AuditEntrySchema = Type.Object({
  id: Type.String(),
  at: Type.String(),
  tokenId: Type.String(),
  tokenName: Type.String(),
  action: Type.String({ description: "Such as destinations.patch" }),
  target: Type.Optional(Type.String()),
  change: Type.Optional(Type.Unknown()),
});
const _entry: SameShape<Static<typeof AuditEntrySchema>, AuditEntryView> = true;

export const listAudit = endpoint({
  name: "audit.list",
  method: "GET",
  path: "/audit",
  summary: "Who changed what and when, newest first; the newest 10,000 changes are kept",
  access: "read",
  query: Type.Object(listParameters, { additionalProperties: false }),
  answers: { status: 200, description: "A page of changes", schema: listOf(AuditEntrySchema) },
  async handle({ query, token }, { store, clock }) {
    return { status: 200, body: maskFor(token, await auditLog(store.config, clock).list(query)) };
  },
});
