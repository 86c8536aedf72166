import type { OpenApiDocument, Operation } from "../../src/admin/openapi.js";

/** `docs/reference/control-api.md`, made of the OpenAPI document. */
export function controlApiPage({ paths, tags }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
  const sections = tags.map(
    ({ name }) =>
      `## ${name}\n\n${operations
        .filter(({ operation }) => operation.tags.includes(name))
        .map(({ method, path, operation }) => describe(method, path, operation))
        .join("\n")}`,
  );
  return `${INTRODUCTION}\n${sections.join("\n")}`;
}

const INTRODUCTION = `# Control API

Everything that the dashboard and the command line do, they do through \`/api/v1\`. A collector describes it as OpenAPI 3.1
at \`/api/v1/openapi.json\` and shows it at \`/api/v1/docs\`; this page is made of the same.

**Token.** Every call needs \`Authorization: Bearer TOKEN\`. \`sluice dev\` prints its token; a production collector takes one
from \`SLUICE_ADMIN_TOKEN\`, or makes one at its first start and writes it to \`admin-token\` in the data folder. Tokens are
stored as hashes. A token with \`read\` access may change nothing, sees of write keys only their
beginnings, no value of a custom header, and of webhooks' URLs only where they lead (\`https://hooks.example/…\`), also in reasons, errors, receivers' answers and the
audit log: their paths and queries can be secrets. It searches only in what it is shown. After five wrong tokens an address (of IPv6: its /64)
gets 429 with \`Retry-After\` for further wrong ones, first for a second, then for twice as long each time up to a minute; a right token is always
accepted. Since a right token is never slowed down, choose a \`SLUICE_ADMIN_TOKEN\` that cannot be guessed, such as 32 random bytes. Revoking a
token ends its live streams and its \`wait\` requests. The token of \`SLUICE_ADMIN_TOKEN\` can only be changed there: revoking it answers 409.

**Shapes.** JSON both ways. Times are ISO 8601 in UTC with milliseconds, durations milliseconds with \`Ms\` in their names.
Lists are \`{items, nextCursor?}\`: hand \`nextCursor\` back as \`cursor\` (what no page gave out is refused). Errors are \`{success: false, code, message}\`; a
refused body adds \`issues: [{path, message}]\`. Unknown fields and parameters are refused. Every call can answer 400
\`invalid_request\` or \`malformed_json\`, 401 \`unauthorized\`, 403 \`forbidden\`, 429 \`rate_limited\` and 503
\`storage_unavailable\`; the errors below come beside these.

**Idempotency-Key.** A POST that carries one is carried out once in 24 hours: a repetition, also one that comes while the
first is under way, gets the first one's answer with \`Idempotent-Replayed: true\`. With another body: 409. What a request
makes is stored in one transaction with its key, so a collector that is killed before it answers does not make it twice.
A retry, a replay and a test send make nothing that could be stored so: killed between their work and their answer they are carried
out again. What is under way by then is left out, and a replay with \`"state": "failed"\` leaves out what was delivered meanwhile too;
without a \`state\` that may be sent once more, under the same message id, by which receivers know it.
A token is shown only once: the repetition of a request that made one gets 409.

**Versions.** What can be changed has a \`version\`, also as \`ETag\`. A PATCH with \`If-Match: "3"\` is refused with 412 when
the version is another by now, one with \`"version": 3\` in its body with 409; both say which it is.

**When a change is in force.** A change is answered once ingestion, delivery and audiences follow it. A message that is acknowledged
after the answer obeys it:

| what was changed | what decides for a message |
| --- | --- |
| write keys, rate limit, a deleted source | the source as it is when the message goes to disk, after its body was read. A change waits for messages that are on their way to disk, so none is acknowledged under the old keys after the answer |
| blocked events, filters, a destination's name | source and destination as they are when the destination takes the message up |
| \`sourceIds\`, \`enabled\`, a new destination | the message's place in the log: messages acknowledged after the answer are behind the change |
| URLs, headers, secrets, other settings | the destination as it is when an attempt begins, so a message that was acknowledged before and waits for its next attempt goes by the new settings. Attempts under way end by the old ones |
| a deleted destination | nothing more begins; attempts under way are cut off |

Changes to different destinations do not wait for each other. A destination that takes long to open sends nothing until it is
open, and holds up the answer for 10 seconds at most. A collector that is killed before it answers follows what it stored from its
next start on.

**Filter.** \`q\` of messages and of the live stream, and \`sluice tail\`:
\`type:track event:"Signed Up" user:42 outcome:failed -properties.plan:free checkout\`. Terms must all hold; the same field
twice means either; \`-\` means not; \`*\` at the end means begins with; a term without a field is text to be found. Fields:
type, event, name, user, anonymous, group, id, source, destination, outcome, and paths below properties, traits, context,
integrations.

**Live.** \`GET /live\` sends server-sent events: \`message\`, \`outcome\` (never before its message), \`rejected\`, and \`dropped\`
when this reader was too slow, or away for too long: how many messages (whether or not its filter would have shown them) and
outcomes it missed; \`isMinimum\` where they were too many to count. \`Last-Event-ID\` goes on where an earlier stream ended: with
the messages since, at most 10,000, and of each state the newest 500 outcomes. The log is read and decoded once for all
readers; each is sent at most 2,000 messages a second and costs no memory for what it is behind.

**Tests.** \`GET /wait\` answers as soon as a message is in a state: at one of its destinations, or, with
\`destinations=all\`, at every one that is to get it. In dev mode \`POST /reset\` forgets all messages and profiles.
`;

function describe(
  method: string,
  path: string,
  { operationId, summary, parameters, requestBody, responses }: Operation,
): string {
  const rows = parameters.map(
    ({ name, in: where, required, description = "" }) =>
      `| \`${name}\` | ${where}${required ? ", required" : ""} | ${cell(description)} |`,
  );
  const body = requestBody?.content["application/json"].schema;
  const [status, success] = Object.entries(responses).find(([code]) => code.startsWith("2")) ?? [
    "",
    undefined,
  ];
  const [answer] = Object.values((success?.content ?? {}) as Record<string, { schema: Schema }>);
  const errors = Object.entries(responses).flatMap(([code, { description }]) =>
    [...description.matchAll(/`(\w+)`:/g)]
      .map(([, name]) => name ?? "")
      .filter((name) => !EVERYWHERE.has(name) && !code.startsWith("2"))
      .map((name) => `${code} \`${name}\``),
  );
  return `### ${operationId}

\`${method} /api/v1${path}\`: ${summary}.
${rows.length === 0 ? "" : `\n| parameter | in | meaning |\n| --- | --- | --- |\n${rows.join("\n")}\n`}${body === undefined ? "" : `\nBody: ${shapeOf(body)}\n`}
${status}: ${success?.description}${answer === undefined ? "." : `: ${shapeOf(answer.schema)}`}
${errors.length === 0 ? "" : `\nErrors: ${errors.join(", ")}.\n`}`;
}

/** Codes that the introduction names once for all. */
const EVERYWHERE = new Set([
  "invalid_request",
  "malformed_json",
  "unauthorized",
  "forbidden",
  "rate_limited",
  "storage_unavailable",
]);

interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
}

/** A schema in one line: \`{name: string, kind?: "web" | "mobile"}\`. */
function shapeOf(schema: Schema): string {
  return `\`${shape(schema)}\``;
}

function shape(schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.anyOf !== undefined) return schema.anyOf.map(shape).join(" | ");
  if (schema.type === "array") return `[${shape(schema.items ?? {})}]`;
  if (schema.properties !== undefined) {
    const required = new Set(schema.required ?? []);
    const fields = Object.entries(schema.properties).map(
      ([name, inner]) => `${name}${required.has(name) ? "" : "?"}: ${shape(inner)}`,
    );
    return `{${fields.join(", ")}}`;
  }
  if (schema.type === "object") return "{…}";
  if (schema.patternProperties !== undefined) return "{…}";
  return schema.type ?? "any";
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
