import type { OpenApiDocument, Operation } from "../../src/admin/openapi/openapi.js";

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

The dashboard and the command line do everything through \`/api/v1\`, and so can you. A collector
describes the API as OpenAPI 3.1 at \`/api/v1/openapi.json\` and shows it at \`/api/v1/docs\`. This page
is generated from that description.

## Conventions

JSON in both directions. Times are ISO 8601 in UTC with milliseconds. Durations are milliseconds,
with \`Ms\` in the name. Unknown fields and parameters are rejected.

| what | form |
| --- | --- |
| a list | \`{items, nextCursor?}\`. Send \`nextCursor\` back as \`cursor\`; a cursor that no page returned is rejected |
| an error | \`{success: false, code, message}\`; for an invalid body also \`issues: [{path, message}]\` |

In addition to the errors listed below, every call can respond 400 \`invalid_request\` or
\`malformed_json\`, 401 \`unauthorized\`, 403 \`forbidden\`, 429 \`rate_limited\` and 503
\`storage_unavailable\`.

### Tokens

Every call needs \`Authorization: Bearer TOKEN\`. \`sluice dev\` prints its token. A production
collector uses \`SLUICE_ADMIN_TOKEN\`, or creates a token at its first start and writes it to
\`admin-token\` in the data folder. Tokens are stored as hashes.

- **Read-only.** A token with \`read\` access cannot change anything. It sees only the beginning of
  write keys, no values of custom headers, and only the host of webhook URLs
  (\`https://hooks.example/…\`), also in reasons, errors, receivers' responses and the audit log,
  because the rest of a URL can be a secret. It searches only in what it can see.
- **Guessing.** After five wrong tokens, an address (for IPv6, its /64 block) gets 429 with
  \`Retry-After\` for further wrong ones: first 1 s, then doubling up to a minute. A valid token is
  never slowed down, so choose a \`SLUICE_ADMIN_TOKEN\` that cannot be guessed, such as 32 random
  bytes.
- **Revoking** a token ends its live streams and its \`wait\` requests. You can change the token of
  \`SLUICE_ADMIN_TOKEN\` only there: revoking it gets a 409.

### Idempotency-Key

A POST with this header is executed once within 24 hours. A repeated request, even while the first
is still running, gets the first one's response with \`Idempotent-Replayed: true\`. With another body,
it gets a 409. What a request creates is stored in one transaction with its key, so it is not
created twice even if the collector is killed before it responds.

- The retry of a single delivery and a test message create nothing that could be stored this way.
  If the collector is killed after the work and before the response, they run again. An operation
  and a replay are stored with the key.
- A token is shown only once: repeating the request that created it gets a 409.

### Versions

Everything that can be changed has a \`version\`, which is also its \`ETag\`. If the version has
changed, a PATCH with \`If-Match: "3"\` gets a 412, and one with \`"version": 3\` in its body a 409.
Both name the current version.

### When a change takes effect

The collector responds to a change when ingestion, delivery and audiences use it. Every message that
is acknowledged after the response follows the change:

| change | what decides for a message |
| --- | --- |
| write keys, rate limit, a deleted source | the source when the message is written to disk. A change waits for messages that are being written, so no message is acknowledged under the old keys after the response |
| blocked events, filters, a destination's name | source and destination when the destination reads the message |
| \`sourceIds\`, \`enabled\`, a new destination | the message's position in the log: messages acknowledged after the response come after the change |
| URLs, headers, secrets, other settings | the destination when an attempt begins. So a message that was acknowledged before and waits for a retry uses the new settings. Attempts in flight end with the old ones |
| a deleted destination | no attempt begins any more; attempts in flight are aborted |

Changes to different destinations do not wait for each other. A destination that takes long to open
sends nothing until it is open, and delays the response by 10 seconds at most. If the collector is
killed before it responds, it uses what it stored from its next start on.

### Filter

\`q\` in messages and in the live stream, and \`sluice tail\`, take a filter:
\`type:track event:"Signed Up" user:42 outcome:failed -properties.plan:free checkout\`. All terms must
match. Several terms for the same field mean "any of them". \`-\` negates a term, \`*\` at the end
matches any ending, and a term without a field searches the text. Fields: type, event, name, user,
anonymous, group, id, source, destination, outcome, and paths below properties, traits, context and
integrations.

### Live stream

\`GET /live\` sends server-sent events: \`message\`, \`outcome\` (never before its message), \`rejected\`,
and \`dropped\` if this reader was too slow or was away for too long. \`dropped\` counts the messages
(whether or not they match the filter) and outcomes that it missed; \`isMinimum\` is set if there were
too many to count.

With \`Last-Event-ID\`, a stream continues where an earlier one ended: with the messages since then,
at most 10,000, and the newest 500 outcomes of each state. Each reader gets at most 2,000 messages a
second, and a reader that is behind costs no memory.

### In tests

\`GET /wait\` responds as soon as a message has a state at one of its destinations, or, with
\`destinations=all\`, at all of them. In dev mode, \`POST /reset\` deletes all messages and profiles.
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
