import { type Static, Type } from "@sinclair/typebox";
import type { Versioned } from "@sluice/event-log";
import {
  COMPARISONS,
  type DestinationInput,
  type DestinationPatch,
  type DestinationStatusView,
  type DestinationView,
  type FilterRuleView,
  type TestSendView,
} from "@sluice/protocol";
import { connectedSources } from "../../delivery/control/connections.js";
import type { Catalog } from "../../destinations/catalog.js";
import type { DestinationDocument } from "../../documents/documents.js";
import { AttemptSchema, StateSchema } from "../messages/message-schema.js";
import type { SameShape } from "../same-shape.js";

const Name = Type.String({ minLength: 1, maxLength: 200 });
const SourceIds = Type.Array(Type.String(), { maxItems: 1_000 });
const Settings = Type.Record(Type.String(), Type.Unknown(), {
  description: "As the catalog's `settingsSchema` of the type says",
});

const FilterRule = Type.Object(
  {
    kinds: Type.Optional(Type.Array(Type.String())),
    events: Type.Optional(Type.Array(Type.String())),
    where: Type.Optional(
      Type.Array(
        Type.Object({
          path: Type.String({ description: "Such as `properties.plan`" }),
          is: Type.Union(COMPARISONS.map((is) => Type.Literal(is))),
          value: Type.Optional(Type.Unknown()),
        }),
      ),
    ),
    action: Type.Union([
      Type.Object({ kind: Type.Literal("drop") }),
      Type.Object({ kind: Type.Literal("sample"), share: Type.Number({ minimum: 0, maximum: 1 }) }),
      Type.Object({ kind: Type.Literal("remove"), paths: Type.Array(Type.String()) }),
    ]),
  },
  { description: "All conditions that are present must hold; the first rule that matches acts" },
);
const Filters = Type.Array(FilterRule);

export const DestinationSchema = Type.Object({
  id: Type.String(),
  type: Type.String(),
  name: Type.String(),
  enabled: Type.Boolean(),
  createdAt: Type.String(),
  sourceIds: SourceIds,
  filters: Filters,
  settings: Settings,
  version: Type.Integer(),
});

export const DestinationInputSchema = Type.Object(
  {
    type: Type.String({ description: "A type of the catalog, such as `webhooks`" }),
    name: Type.Optional(Name),
    sourceIds: Type.Optional(SourceIds),
    settings: Type.Optional(Settings),
    enabled: Type.Optional(Type.Boolean({ description: "Default: true" })),
    filters: Type.Optional(Filters),
  },
  { additionalProperties: false },
);

export const DestinationPatchSchema = Type.Object(
  {
    name: Type.Optional(Name),
    sourceIds: Type.Optional(SourceIds),
    settings: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: "Laid over the settings kept, by key; null takes a key out",
      }),
    ),
    enabled: Type.Optional(Type.Boolean()),
    filters: Type.Optional(Filters),
    version: Type.Optional(Type.Integer()),
  },
  { additionalProperties: false },
);

export const DestinationStatusSchema = Type.Object({
  destinationId: Type.String(),
  state: Type.Union([Type.Literal("delivering"), Type.Literal("disabled"), Type.Literal("backing_off")]),
  health: Type.Union(
    [
      Type.Literal("good"),
      Type.Literal("failing"),
      Type.Literal("idle"),
      Type.Literal("url_disabled"),
      Type.Literal("partly_disabled"),
      Type.Literal("disabled"),
      Type.Literal("backing_off"),
    ],
    {
      description:
        "Whether messages arrive: `failing` where what was tried last was not delivered, `url_disabled` where every URL answered 410 Gone, `partly_disabled` where some did and the others take what is sent",
    },
  ),
  failingSince: Type.Optional(Type.String()),
  disabledUrls: Type.Optional(Type.Array(Type.String(), { description: "URLs that answered 410 Gone" })),
  behind: Type.Integer({
    description:
      "Messages of the log it has not come to yet, and those it tries for the first time; 0 once all that was received is routed. While it is disabled or backs off it reads nothing: messages of sources that it is not connected to are among them then",
  }),
  retries: Type.Integer({ description: "Messages that failed and wait for their next attempt" }),
  waiting: Type.Integer({
    description:
      "What waits here now: `retries`, and `behind` but for a disabled destination, which skips them",
  }),
  nextAttemptAt: Type.Optional(Type.String()),
  lastError: Type.Optional(Type.String()),
});

export const TestSendSchema = Type.Object({
  messageId: Type.String(),
  state: StateSchema,
  reason: Type.String(),
  attempts: Type.Array(AttemptSchema),
});

const _rule: SameShape<Static<typeof FilterRule>, FilterRuleView> = true;
const _view: SameShape<Static<typeof DestinationSchema>, DestinationView> = true;
const _input: SameShape<Static<typeof DestinationInputSchema>, DestinationInput> = true;
const _patch: SameShape<Static<typeof DestinationPatchSchema>, DestinationPatch> = true;
const _status: SameShape<Static<typeof DestinationStatusSchema>, DestinationStatusView> = true;
const _test: SameShape<Static<typeof TestSendSchema>, TestSendView> = true;

/** A destination as it may be shown: its type says what of its settings is secret; of a type that is gone nothing is shown. */
export function destinationView(
  { id, version, value }: Versioned<DestinationDocument>,
  catalog: Catalog,
): DestinationView {
  return {
    id,
    type: value.type,
    name: value.name,
    enabled: value.enabled,
    createdAt: value.createdAt,
    sourceIds: connectedSources(value),
    filters: value.filters,
    settings: catalog.get(value.type)?.describe(value.settings) ?? {},
    version,
  };
}
