import { type Definitions, NAMED_KINDS, type Plan, type Schema } from "@sluice/protocol";

export interface ViewsOptions {
  /** The table of `@sluice/destination-postgres`: `public.sluice_messages`. */
  readonly table: string;
  /** The schema for the views. */
  readonly schema: string;
  readonly head: string;
}

/** Columns that every view has. */
const COMMON = ["message_id", "source_id", "user_id", "anonymous_id", "timestamp", "received_at"];

/**
 * SQL that makes a view for each event, page and screen of a plan, and for traits, with a column of its type for each property. A value of
 * another type is null, so that one message does not break a view.
 */
export function planViews(plan: Plan, { table, schema, head }: ViewsOptions): string {
  const used = new Set<string>();
  const views = [
    ...NAMED_KINDS.flatMap((kind) =>
      [...(plan[kind] ?? [])].map(([name, properties]) => ({
        name: nameOf(kind === "track" ? name : `${kind}_${name}`, used),
        where: `type = ${literal(kind)} and ${kind === "track" ? "event" : "name"} = ${literal(name)}`,
        field: "properties",
        properties,
      })),
    ),
    ...(["identify", "group"] as const).flatMap((kind) => {
      const properties = plan[kind];
      if (properties === undefined) return [];
      return [{ name: nameOf(kind, used), where: `type = ${literal(kind)}`, field: "traits", properties }];
    }),
  ];
  const statements = views.map(({ name, where, field, properties }) => {
    const columns = columnsOf(properties, field, plan.definitions);
    const view = `${quoted(schema)}.${quoted(name)}`;
    const group = name === "group" ? ["group_id"] : [];
    const all = [...COMMON, ...group, ...columns].map((column) => `  ${column}`).join(",\n");
    return `drop view if exists ${view};\ncreate view ${view} as select\n${all}\nfrom ${quotedPath(table)} where ${where};\n`;
  });
  const comments = head.split("\n").map((line) => `-- ${line}\n`);
  return [...comments, "begin;\n", ...statements, "commit;\n"].join("");
}

/** The properties as columns, none twice. */
function columnsOf(schema: Schema, field: string, definitions: Definitions): readonly string[] {
  const used = new Set([...COMMON, "group_id"]);
  return [...propertiesOf(schema, definitions)].map(([name, property]) => {
    const value = `message -> ${literal(field)} -> ${literal(name)}`;
    return `${typed(value, resolved(property, definitions))} as ${quoted(nameOf(name, used))}`;
  });
}

/** Also those of the schemas that a schema consists of. */
function propertiesOf(schema: Schema, definitions: Definitions, depth = 0): ReadonlyMap<string, Schema> {
  const { properties = new Map(), allOf = [] } = resolved(schema, definitions);
  // A definition may contain itself.
  if (depth > 8) return properties;
  const inherited = allOf.flatMap((one) => [...propertiesOf(one, definitions, depth + 1)]);
  return new Map([...inherited, ...properties]);
}

function resolved(schema: Schema, definitions: Definitions): Schema {
  let found = schema;
  for (let hops = 0; found.ref !== undefined && hops < 8; hops++) {
    const next: Schema | undefined = definitions.get(found.ref);
    if (next === undefined) return found;
    found = next;
  }
  return found;
}

/** Days that exist; the 29th of February in years that 4 divides, apart from centuries. */
const DATE_TIME = [
  "^([1-9]\\d{3}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))",
  "|[1-9]\\d(0[48]|[2468][048]|[13579][26])-02-29)",
  "T([01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(\\.\\d{1,9})?(Z|[+-](0\\d|1[0-4]):[0-5]\\d)$",
].join("");

function typed(value: string, { types = [], values, format }: Schema): string {
  const text = `(${value}) #>> '{}'`;
  const meant = new Set(values?.map((one) => typeof one) ?? types.filter((type) => type !== "null"));
  const [type] = meant.size === 1 ? meant : [];
  switch (type) {
    case "string":
      return format === "date-time"
        ? `case when ${text} ~ ${literal(DATE_TIME)} then (${text})::timestamptz end`
        : text;
    case "integer":
    case "number":
      return `case when jsonb_typeof(${value}) = 'number' then (${text})::numeric end`;
    case "boolean":
      return `case when jsonb_typeof(${value}) = 'boolean' then (${text})::boolean end`;
    default:
      return `(${value})`;
  }
}

/** PostgreSQL cuts names after so many bytes. */
const LONGEST_NAME = 60;

/** `Order Completed` → `order_completed`, with a number if that is taken. */
function nameOf(text: string, used: Set<string>): string {
  const words = text
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "_")
    .replace(/^_|_$/g, "");
  let wanted = words === "" ? "unnamed" : words;
  while (Buffer.byteLength(wanted) > LONGEST_NAME) wanted = [...wanted].slice(0, -1).join("");
  let name = wanted;
  for (let number = 2; used.has(name); number++) name = `${wanted}_${number}`;
  used.add(name);
  return name;
}

/** As the standard has it: a backslash means nothing. U+0000 is in no text of PostgreSQL. */
function literal(text: string): string {
  return `'${text.replaceAll("\u0000", "\ufffd").replaceAll("'", "''")}'`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function quotedPath(path: string): string {
  return path.split(".").map(quoted).join(".");
}
