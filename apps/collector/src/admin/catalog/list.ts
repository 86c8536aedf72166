import { type Static, Type } from "@sinclair/typebox";
import type { CatalogEntryView } from "@sluice/protocol";
import type { DestinationType } from "../../destinations/destination.js";
import { endpoint } from "../endpoint.js";
import { listOf } from "../list-query.js";
import type { SameShape } from "../same-shape.js";

const CatalogEntrySchema = Type.Object({
  type: Type.String({ description: "What `POST /destinations` takes as `type`" }),
  name: Type.String({ description: "The published name, which `integrations` uses; case sensitive" }),
  mode: Type.Literal("cloud"),
  sources: Type.Array(Type.Union([Type.Literal("web"), Type.Literal("mobile"), Type.Literal("server")])),
  historical: Type.Boolean({ description: "Whether it takes messages of the past" }),
  settingsSchema: Type.Object({}, { description: "JSON Schema of `settings`" }),
});
const _entry: SameShape<Static<typeof CatalogEntrySchema>, CatalogEntryView> = true;

export const listCatalog = endpoint({
  name: "catalog.list",
  method: "GET",
  path: "/catalog",
  summary: "The types of destination that there are",
  access: "read",
  answers: { status: 200, description: "All of them", schema: listOf(CatalogEntrySchema) },
  handle(_asked, { catalog }) {
    return { status: 200, body: { items: catalog.types.map(catalogEntry) } };
  },
});

function catalogEntry(type: DestinationType): CatalogEntryView {
  return {
    type: type.type,
    name: type.name,
    mode: type.mode,
    sources: type.sources,
    historical: type.historical.accepted,
    settingsSchema: type.settingsSchema,
  };
}
