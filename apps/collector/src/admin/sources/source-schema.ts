import { type Static, Type } from "@sinclair/typebox";
import { identityPolicyOf } from "@sluice/audiences";
import type { Versioned } from "@sluice/event-log";
import {
  REGIONS,
  type Region,
  type SourceInput,
  type SourcePatch,
  type SourceView,
  type WriteKeyView,
} from "@sluice/protocol";
import type { SourceDocument } from "../../documents/documents.js";
import type { KnownToken } from "../../tokens/tokens.js";
import type { SameShape } from "../same-shape.js";

const Name = Type.String({ minLength: 1, maxLength: 200 });
const Kind = Type.Union([Type.Literal("web"), Type.Literal("mobile"), Type.Literal("server")]);
const BlockedEvents = Type.Array(Type.String({ minLength: 1, maxLength: 1_000 }), {
  maxItems: 1_000,
  description: "Names of track events that go to no destination; they are stored, and traced as filtered",
});
const Identity = Type.Union([Type.Literal("full"), Type.Literal("anonymous"), Type.Literal("none")], {
  description:
    "Which ids its messages may join: any (`full`), an anonymous id that is nobody's yet to a user (`anonymous`), none",
});
const RateLimit = Type.Number({ exclusiveMinimum: 0, description: "Messages a second that are taken" });

export const WriteKeySchema = Type.Object({
  key: Type.String({ description: "A token with `read` access sees only its beginning" }),
  createdAt: Type.String(),
  isMasked: Type.Optional(Type.Boolean({ description: "`key` is only its beginning. Default: false" })),
});

export const SourceSchema = Type.Object({
  id: Type.String(),
  name: Type.String(),
  kind: Kind,
  createdAt: Type.String(),
  writeKeys: Type.Array(WriteKeySchema),
  blockedEvents: BlockedEvents,
  rateLimit: Type.Optional(RateLimit),
  identity: Identity,
  region: Type.Optional(
    Type.Union(
      REGIONS.map((region) => Type.Literal(region)),
      { description: "Absent where no region is configured" },
    ),
  ),
  version: Type.Integer(),
});

export const SourceInputSchema = Type.Object(
  {
    name: Name,
    kind: Type.Optional(Kind),
    blockedEvents: Type.Optional(BlockedEvents),
    rateLimit: Type.Optional(RateLimit),
    identity: Type.Optional(Identity),
  },
  { additionalProperties: false },
);

export const SourcePatchSchema = Type.Object(
  {
    name: Type.Optional(Name),
    blockedEvents: Type.Optional(BlockedEvents),
    rateLimit: Type.Optional(Type.Union([RateLimit, Type.Null()])),
    identity: Type.Optional(Type.Union([Identity, Type.Null()])),
    version: Type.Optional(Type.Integer()),
  },
  { additionalProperties: false },
);

export const UsageSchema = Type.Object({
  days: Type.Array(
    Type.Object({
      day: Type.String(),
      accepted: Type.Integer({ description: "Messages that were stored; a duplicate is not one" }),
      filtered: Type.Integer({ description: "Outcomes, one for each destination that filtered a message" }),
      delivered: Type.Integer({ description: "Outcomes, one for each destination that got a message" }),
    }),
  ),
});

const _view: SameShape<Static<typeof SourceSchema>, SourceView> = true;
const _input: SameShape<Static<typeof SourceInputSchema>, SourceInput> = true;
const _patch: SameShape<Static<typeof SourcePatchSchema>, SourcePatch> = true;

/**
 * A source as the token may see it: one that only reads sees keys masked, since a key allows sending. A source keeps the region it was
 * made in, but shows it only at a collector that has one (`region`).
 */
export function sourceView(
  { id, version, value }: Versioned<SourceDocument>,
  { access }: Pick<KnownToken, "access">,
  region: Region | undefined,
): SourceView {
  return {
    id,
    name: value.name,
    kind: value.kind,
    createdAt: value.createdAt,
    writeKeys: access === "full" ? value.writeKeys : value.writeKeys.map(maskedKey),
    blockedEvents: value.blockedEvents,
    ...(value.rateLimit === undefined ? {} : { rateLimit: value.rateLimit }),
    identity: identityPolicyOf(value),
    ...(value.region === undefined || region === undefined ? {} : { region: value.region }),
    version,
  };
}

/** The prefix and four characters: enough to tell keys apart. */
function maskedKey({ key, createdAt }: WriteKeyView): WriteKeyView {
  return { key: `${key.slice(0, key.lastIndexOf("_") + 5)}…`, createdAt, isMasked: true };
}
