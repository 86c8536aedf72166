import { Type } from "@sinclair/typebox";
import type { EndpointTable } from "../endpoint.js";
import { closed, described, ListQuery, listOf, oneOf, type Shape } from "../endpoint.js";

const Name = Type.String({ minLength: 1, maxLength: 200 });
const Code = Type.String({
  minLength: 1,
  maxLength: 65_536,
  description: "A module: `export default function transform(message, { secrets, log }) { return message }`",
});
/** The longest code, with secrets, as JSON that escapes each character. */
const CODE_BODY_BYTES = 1_048_576;
/** With 100 messages of 32 KB besides. */
const MESSAGES_BODY_BYTES = 5_242_880;
const SecretName = "^[A-Z][A-Z0-9_]{0,63}$";

export const TransformationLanguage = oneOf(["typescript", "javascript"]);
export type TransformationLanguage = Shape<typeof TransformationLanguage>;

/** Where an error is in the code. */
const Place = {
  line: Type.Optional(Type.Integer({ description: "From 1, in the code as it was saved" })),
  column: Type.Optional(Type.Integer()),
};

export const TransformationView = Type.Object({
  id: Type.String(),
  name: Name,
  code: described(Code, "Of the version in force"),
  language: TransformationLanguage,
  current: Type.Integer({ description: "The version of the code in force, from 1" }),
  newest: Type.Integer({ description: "The number of versions" }),
  secretNames: Type.Array(Type.String(), { description: "Their values are never shown" }),
  destinationIds: Type.Array(Type.String(), { description: "The destinations that it is attached to" }),
  sourceIds: Type.Array(Type.String(), { description: "The sources that it is attached to" }),
  createdAt: Type.String(),
  changedAt: Type.String(),
  version: Type.Integer({ description: "Grows by one with each change; `If-Match` compares it" }),
});
export type TransformationView = Shape<typeof TransformationView>;

const SecretsInput = Type.Record(
  Type.String({ pattern: SecretName }),
  Type.Union([Type.String({ minLength: 1, maxLength: 4_096 }), Type.Null()]),
  {
    description: "By name in capitals, at most 20; given to the function as `secrets.NAME`. null removes one",
  },
);

export const TransformationInput = closed({
  name: Name,
  code: Code,
  language: Type.Optional(described(TransformationLanguage, "Default: `typescript`")),
  secrets: Type.Optional(SecretsInput),
});
export type TransformationInput = Shape<typeof TransformationInput>;

export const TransformationPatch = closed({
  name: Type.Optional(Name),
  code: Type.Optional(described(Code, "Makes a new version, which is in force when this is answered")),
  language: Type.Optional(TransformationLanguage),
  current: Type.Optional(
    Type.Integer({ minimum: 1, description: "Puts an earlier (or later) version in force; not with `code`" }),
  ),
  secrets: Type.Optional(SecretsInput),
  version: Type.Optional(Type.Integer()),
});
export type TransformationPatch = Shape<typeof TransformationPatch>;

export const TransformationVersionView = Type.Object({
  number: Type.Integer(),
  code: Code,
  language: TransformationLanguage,
  createdAt: Type.String(),
  createdBy: Type.Optional(Type.String({ description: "The name of the token that saved it" })),
  isCurrent: Type.Boolean(),
});
export type TransformationVersionView = Shape<typeof TransformationVersionView>;

const Message = Type.Record(Type.String(), Type.Unknown());

const WayToDestination = Type.Optional(
  Type.String({
    description:
      "Only messages that this destination gets, after its filters. Code of their source runs before that of the destination: the transformation of the other one runs too",
  }),
);

/** Tries code on messages: nothing is stored or sent. */
export const TransformationTest = closed({
  id: Type.Optional(Type.String({ description: "A transformation, whose secrets the code gets" })),
  code: Type.Optional(described(Code, "Default: the version of `id` in force")),
  language: Type.Optional(TransformationLanguage),
  messages: Type.Optional(
    Type.Array(Message, { maxItems: 100, description: "Messages as the function gets them" }),
  ),
  messageIds: Type.Optional(Type.Array(Type.String(), { maxItems: 100, description: "Stored messages" })),
  newest: Type.Optional(
    closed({
      count: Type.Integer({ minimum: 1, maximum: 100 }),
      sourceId: Type.Optional(Type.String({ description: "Default: any source" })),
    }),
  ),
  destinationId: WayToDestination,
});
export type TransformationTest = Shape<typeof TransformationTest>;

export const TransformationResult = Type.Object({
  messageId: Type.String(),
  before: Message,
  result: oneOf(["same", "changed", "dropped", "failed"]),
  after: Type.Optional(Type.Array(Message, { description: "What would be delivered. Absent: nothing" })),
  error: Type.Optional(Type.Object({ code: Type.String(), message: Type.String(), ...Place })),
  logs: Type.Array(Type.Object({ level: oneOf(["info", "warn", "error"]), text: Type.String() }), {
    description: "What the function logged: at most 20 lines",
  }),
});
export type TransformationResult = Shape<typeof TransformationResult>;

export const TransformationTestView = Type.Object({
  error: Type.Optional(
    Type.Object({ message: Type.String(), ...Place }, { description: "The code cannot run at all" }),
  ),
  results: Type.Array(TransformationResult),
});
export type TransformationTestView = Shape<typeof TransformationTestView>;

/** Runs code over the newest stored messages, and counts. */
export const TransformationDryRun = closed({
  id: Type.Optional(Type.String()),
  code: Type.Optional(Code),
  language: Type.Optional(TransformationLanguage),
  sourceId: Type.Optional(Type.String({ description: "Default: any source" })),
  destinationId: WayToDestination,
  messages: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000, description: "Default: 1000" })),
});
export type TransformationDryRun = Shape<typeof TransformationDryRun>;

export const TransformationDryRunView = Type.Object({
  error: Type.Optional(Type.Object({ message: Type.String(), ...Place })),
  messages: Type.Integer({ description: "Messages that were read" }),
  same: Type.Integer(),
  changed: Type.Integer(),
  dropped: Type.Integer(),
  failed: Type.Integer(),
  causes: Type.Array(
    Type.Object({
      code: Type.String(),
      message: Type.String({ description: "Of the first message" }),
      ...Place,
      count: Type.Integer(),
      messageIds: Type.Array(Type.String(), { description: "At most five" }),
    }),
    { description: "Why messages failed, the most frequent first; at most 20" },
  ),
  examples: Type.Array(TransformationResult, {
    description: "The newest five that were changed, dropped or failed",
  }),
  tookMs: Type.Number(),
  endedEarly: Type.Boolean({
    description: "30 seconds were over before all messages were read: older ones are not counted",
  }),
});
export type TransformationDryRunView = Shape<typeof TransformationDryRunView>;

export const transformationEndpoints = {
  "POST /transformations": {
    name: "transformations.create",
    summary: "Create a transformation with the first version of its code",
    access: "write",
    body: TransformationInput,
    bodyBytes: CODE_BODY_BYTES,
    answer: { status: 201, description: "The transformation", schema: TransformationView },
    commands: [
      {
        name: "transformations create",
        arguments: ["name"],
        fields: [],
        notes: ["Attach it: npx sluice destinations update DESTINATION --transformation {name}"],
        example: '"Hash e-mail" --file hash-email.ts --secret HASH_KEY',
      },
    ],
  },
  "GET /transformations": {
    name: "transformations.list",
    summary: "List transformations, oldest first",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of transformations", schema: listOf(TransformationView) },
    commands: [
      {
        name: "transformations list",
        columns: "name VERSION:current language destinations sources SECRETS:secretNames changedAt id",
      },
    ],
  },
  "GET /transformations/:id": {
    name: "transformations.get",
    summary: "Get a transformation with the code in force; of its secrets only the names",
    access: "read",
    answer: { status: 200, description: "The transformation", schema: TransformationView },
    errors: ["not_found"],
    commands: [{ name: "transformations get", example: '"Hash e-mail" --code > hash-email.ts' }],
  },
  "PATCH /transformations/:id": {
    name: "transformations.patch",
    summary:
      "Rename a transformation, save a version of its code, put another version in force, change secrets",
    access: "write",
    body: TransformationPatch,
    bodyBytes: CODE_BODY_BYTES,
    answer: { status: 200, description: "The changed transformation", schema: TransformationView },
    errors: ["not_found", "conflict", "precondition_failed"],
    commands: [
      {
        name: "transformations update",
        summary: "Rename a transformation, save a version of its code, change secrets",
        fields: ["name"],
        example: '"Hash e-mail" --file hash-email.ts',
      },
      {
        name: "transformations restore",
        summary: "Put an earlier or later version in force",
        arguments: ["current"],
        fields: [],
        names: { current: "version" },
        example: '"Hash e-mail" 2',
      },
    ],
  },
  "DELETE /transformations/:id": {
    name: "transformations.delete",
    summary: "Delete a transformation with its versions and secrets; refused while it is attached",
    access: "write",
    answer: { status: 204, description: "The transformation is deleted" },
    errors: ["not_found", "conflict"],
    commands: [
      {
        name: "transformations delete",
        confirm: "Delete the transformation {name} ({id}) with its versions",
        example: '"Hash e-mail" --yes',
      },
    ],
  },
  "GET /transformations/:id/versions": {
    name: "transformations.versions",
    summary: "List the versions of a transformation, newest first",
    access: "read",
    query: ListQuery,
    answer: { status: 200, description: "A page of versions", schema: listOf(TransformationVersionView) },
    errors: ["not_found"],
    commands: [
      {
        name: "transformations versions",
        columns: "VERSION:number IN_FORCE:isCurrent language createdAt BY:createdBy",
        example: '"Hash e-mail"',
      },
    ],
  },
  "POST /transformations/test": {
    name: "transformations.test",
    summary: "Run code on messages and show what it does; nothing is stored or sent",
    access: "write",
    body: TransformationTest,
    bodyBytes: MESSAGES_BODY_BYTES,
    answer: { status: 200, description: "What it does with each message", schema: TransformationTestView },
    errors: ["not_found", "payload_too_large", "request_timeout"],
  },
  "POST /transformations/dry-run": {
    name: "transformations.dryRun",
    summary: "Run code on the newest stored messages and count what it does; nothing is stored or sent",
    access: "write",
    body: TransformationDryRun,
    bodyBytes: CODE_BODY_BYTES,
    answer: { status: 200, description: "The counts", schema: TransformationDryRunView },
    errors: ["not_found", "request_timeout"],
  },
} as const satisfies EndpointTable;
