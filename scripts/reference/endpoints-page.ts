import type { OpenApiDocument, Operation } from "../../apps/collector/src/admin/openapi/openapi.js";

/** All endpoints of the control API, as Markdown made of its OpenAPI document. */
export function endpointsPage({ paths, tags }: OpenApiDocument): string {
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
  return `# All endpoints\n\n${sections.join("\n")}`;
}

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

/** Codes that `docs/reference/control-api.md` names once for all. */
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
