import { type JsonType, NAMED_KINDS, type Plan, type Schema, UNNAMED_KINDS } from "./plan.js";

/** A plan as TypeScript, for `new Analytics<Plan>()`. The same plan always gives the same text. */
export function planTypes(
  plan: Plan,
  { typeName, head }: { readonly typeName: string; readonly head: string },
): string {
  const names = definitionNames([...plan.definitions.keys()], typeName);
  const print = printer(names);
  const fields = [
    ...UNNAMED_KINDS.slice(0, 1).flatMap((kind) => unnamed(plan, kind, print)),
    ...NAMED_KINDS.flatMap((kind) => named(plan, kind, print)),
    ...UNNAMED_KINDS.slice(1).flatMap((kind) => unnamed(plan, kind, print)),
  ];
  const definitions = [...plan.definitions].map(
    ([name, schema]) =>
      `${comment(schema.description, "")}export type ${names.get(name)} = ${print(schema, "")};\n`,
  );
  const about = [plan.name, plan.description].filter((text) => text !== undefined).join(": ");
  return [
    ...head.split("\n").map((line) => `// ${line}\n`),
    "\n",
    `${comment(about === "" ? undefined : about, "")}export interface ${typeName} {\n${fields.join("")}}\n`,
    ...definitions.map((text) => `\n${text}`),
  ].join("");
}

type Print = (schema: Schema, indent: string) => string;

function unnamed(plan: Plan, kind: (typeof UNNAMED_KINDS)[number], print: Print): string[] {
  const schema = plan[kind];
  return schema === undefined
    ? []
    : [`${comment(schema.description, "  ")}  ${kind}: ${objectOf(schema, "  ", print)};\n`];
}

function named(plan: Plan, kind: (typeof NAMED_KINDS)[number], print: Print): string[] {
  const schemas = plan[kind];
  if (schemas === undefined) return [];
  const entries = [...schemas].map(
    ([name, schema]) =>
      `${comment(schema.description, "    ")}    ${fieldName(name)}: ${objectOf(schema, "    ", print)};\n`,
  );
  return [`  ${kind}: {\n${entries.join("")}  };\n`];
}

/** Properties are an object, even where a schema says nothing. */
function objectOf(schema: Schema, indent: string, print: Print): string {
  const text = print(schema, indent);
  return text === "unknown" ? "object" : text;
}

function printer(names: ReadonlyMap<string, string>): Print {
  const print: Print = (schema, indent) => {
    if (schema.never) return "never";
    const parts = [
      ...(schema.ref === undefined ? [] : [names.get(schema.ref) ?? "unknown"]),
      ...ownType(schema, indent, print),
      ...(schema.allOf ?? []).map((one) => print(one, indent)),
      ...[schema.anyOf, schema.oneOf].flatMap((list) =>
        list === undefined ? [] : [unionOf(list.map((one) => print(one, indent)))],
      ),
    ].filter((part) => part !== "unknown");
    const [only] = parts;
    if (parts.length <= 1) return only ?? "unknown";
    return parts.map(grouped).join(" & ");
  };
  return print;
}

function ownType(schema: Schema, indent: string, print: Print): string[] {
  const { types, values } = schema;
  if (values !== undefined) return [unionOf(values.map((value) => literal(value)))];
  const describesObject =
    schema.properties !== undefined || schema.additional !== undefined || schema.required !== undefined;
  const meant =
    types ?? (describesObject ? ["object" as const] : schema.items !== undefined ? ["array" as const] : []);
  return meant.length === 0 ? [] : [unionOf(meant.map((type) => typeText(type, schema, indent, print)))];
}

function typeText(type: JsonType, schema: Schema, indent: string, print: Print): string {
  switch (type) {
    case "string":
      // The SDK writes a Date as ISO 8601.
      return schema.format === "date-time" ? "string | Date" : "string";
    case "integer":
    case "number":
      return "number";
    case "array":
      return schema.items === undefined ? "unknown[]" : `${grouped(print(schema.items, indent))}[]`;
    case "object":
      return objectText(schema, indent, print);
    default:
      return type;
  }
}

function objectText(
  { properties = new Map(), required = [], additional }: Schema,
  indent: string,
  print: Print,
): string {
  const inner = `${indent}  `;
  const names = [...new Set([...properties.keys(), ...required])];
  const lines = names.map((name) => {
    const schema: Schema = properties.get(name) ?? {};
    const mark = required.includes(name) ? "" : "?";
    return `${comment(schema.description, inner)}${inner}${fieldName(name)}${mark}: ${print(schema, inner)};\n`;
  });
  // An index signature must fit every named field, so its type says nothing where there are some.
  const others =
    additional === undefined || additional.never
      ? undefined
      : lines.length > 0
        ? "unknown"
        : print(additional, inner);
  if (lines.length === 0) return others === undefined ? "{}" : `{ [name: string]: ${others} }`;
  const rest = others === undefined ? "" : `${inner}[name: string]: ${others};\n`;
  return `{\n${lines.join("")}${rest}${indent}}`;
}

function literal(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  return `{ ${Object.entries(value)
    .map(([name, field]) => `${fieldName(name)}: ${literal(field)}`)
    .join("; ")} }`;
}

function unionOf(texts: readonly string[]): string {
  const distinct = [...new Set(texts)];
  return distinct.includes("unknown")
    ? "unknown"
    : distinct.length === 1
      ? (distinct[0] as string)
      : distinct.map((text) => (text.includes(" & ") ? `(${text})` : text)).join(" | ");
}

function grouped(text: string): string {
  return / [|&] /.test(text) && !(text.startsWith("{") && text.endsWith("}")) ? `(${text})` : text;
}

function fieldName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function comment(text: string | undefined, indent: string): string {
  if (text === undefined || text === "") return "";
  const safe = text.replaceAll("*/", "*\\/");
  const lines = safe.split(/\r?\n/);
  return lines.length === 1
    ? `${indent}/** ${safe} */\n`
    : `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

/** A type name for each definition, none twice. */
function definitionNames(definitions: readonly string[], taken: string): ReadonlyMap<string, string> {
  const used = new Set([taken]);
  const names = new Map<string, string>();
  for (const definition of definitions) {
    const words = definition.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
    const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join("");
    const wanted = /^[A-Za-z]/.test(joined) ? joined : `Type${joined}`;
    let name = wanted;
    for (let number = 2; used.has(name); number++) name = `${wanted}${number}`;
    used.add(name);
    names.set(definition, name);
  }
  return names;
}
