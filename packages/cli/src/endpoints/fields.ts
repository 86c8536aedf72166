import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { AdminClient } from "@sluice/admin-client";
import { type CommandSpec, ENDPOINTS, type EndpointTable } from "@sluice/control-api";
import { INCIDENT_SOURCE_ID } from "@sluice/protocol";
import { Argument, type Command, Option } from "commander";
import { readDuration } from "../arguments.js";
import { findByName } from "../connection/find-by-name.js";
import { CommandFailure } from "../failures.js";
import type { Io } from "../terminal/io.js";

/** Every endpoint, whatever its schemas. */
export const TABLE: EndpointTable = ENDPOINTS;

/** The parts of a JSON schema that are read here. */
export interface Schema {
  readonly type?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly description?: string;
}

/** A field of an endpoint's query or body, as an option or argument. */
export interface Field {
  readonly path: readonly string[];
  /** The name of the option, without dashes. */
  readonly flag: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly description: string;
  /** Whether a command can send null, or an empty list. The text says what that means. */
  readonly none: string | undefined;
}

/** Fields that commands send by themselves. */
const HIDDEN = new Set(["version", "limit", "cursor"]);

/** The fields of a query or body. Those of an object in it stand beside the others. */
export function fieldsOf(
  { properties = {}, required = [] }: Schema,
  { names = {} }: CommandSpec,
  isPatch: boolean,
  above: readonly string[] = [],
  isRequired = true,
): Field[] {
  return Object.entries(properties).flatMap(([name, given]): Field[] => {
    if (HIDDEN.has(name)) return [];
    const { schema, none } = withoutNull(given, isPatch);
    const flag = names[name] ?? flagOf(name);
    const field: Field = {
      path: [...above, name],
      schema,
      none,
      flag,
      isRequired: isRequired && required.includes(name),
      description: schema.description ?? given.description ?? `the ${flag.replaceAll("-", " ")}`,
    };
    if (schema.properties === undefined) return [field];
    const inner = fieldsOf(schema, { name, names }, isPatch, field.path, field.isRequired);
    return none === undefined ? inner : [...inner, { ...field, schema: { const: null } }];
  });
}

/** The schema without null, and what null, or in a change an empty list, means. */
function withoutNull(schema: Schema, isPatch: boolean): Pick<Field, "schema" | "none"> {
  const { anyOf = [], type, description = "" } = schema;
  if (!anyOf.some((one) => one.type === "null"))
    return { schema, none: isPatch && type === "array" ? "none of them" : undefined };
  const other = anyOf.find((one) => one.type !== "null") ?? schema;
  return { schema: other, none: /null:? (.*)$/.exec(description)?.[1] ?? "remove it" };
}

/** `destinationIds` → `destination`, `retryForMs` → `retry-for`. */
function flagOf(name: string): string {
  if (name === "enabled") return "disabled";
  const short = name.replace(/(Ids?|Ms)$/, "");
  return short.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

const isMany = ({ schema }: Field): boolean => schema.type === "array" && schema.items?.type !== "object";
const isDuration = ({ path }: Field): boolean => path.at(-1)?.endsWith("Ms") === true;

/** The words that a value is one of. */
function choicesOf({ schema }: Field): string[] | undefined {
  const { anyOf } = schema.items ?? schema;
  const words = anyOf?.map((one) => one.const);
  return words?.every((word) => typeof word === "string") ? words : undefined;
}

/** What stands for the value in the help. */
function placeholder(field: Field): string {
  if (isDuration(field)) return "duration";
  if (field.schema.type === "integer" || field.schema.type === "number") return "n";
  return isJson(field) ? "json" : field.flag;
}

function isJson({ schema }: Field): boolean {
  const { type, anyOf } = schema.type === "array" ? (schema.items ?? {}) : schema;
  return anyOf === undefined && (type === undefined || type === "object");
}

export function addArgument(command: Command, field: Field): void {
  const name = isMany(field) ? `${field.flag}...` : field.flag;
  const argument = new Argument(field.isRequired ? `<${name}>` : `[${name}]`, lower(field.description));
  const choices = choicesOf(field);
  command.addArgument(choices === undefined ? argument : argument.choices(choices));
}

export function addOption(command: Command, field: Field, { defaults = {} }: CommandSpec): void {
  const { flag, description, isRequired, none } = field;
  const fallback = defaults[field.path.at(-1) ?? ""];
  if (field.schema.const === null) {
    command.option("--remove", "remove these settings");
    return;
  }
  if (field.schema.type === "boolean") {
    command.option(`--${flag}`, flag === "disabled" ? "do not enable it yet" : lower(description));
    return;
  }
  const value = isMany(field) ? `${placeholder(field)}...` : placeholder(field);
  const option = new Option(`--${flag} <${value}>`, lower(description)).makeOptionMandatory(isRequired);
  const choices = choicesOf(field);
  if (choices !== undefined) option.choices(choices);
  if (fallback !== undefined) option.default(fallback);
  command.addOption(option);
  if (none !== undefined) command.option(`--no-${flag}`, lower(none));
}

function lower(text: string): string {
  return text.replace(/^[A-Z](?![A-Z])/, (first) => first.toLowerCase()).replace(/\.$/, "");
}

/** The value that was given, as the control API takes it; undefined if none was. */
export async function readField(field: Field, given: unknown, client: AdminClient, io: Io): Promise<unknown> {
  const { schema, flag } = field;
  if (given === undefined || (Array.isArray(given) && given.length === 0)) return undefined;
  if (schema.const === null) return null;
  if (given === false) return schema.type === "array" ? [] : null;
  if (given === true) return flag !== "disabled";
  if (Array.isArray(given)) return Promise.all(given.map((one) => readOne(field, one, client, io)));
  return readOne(field, String(given), client, io);
}

async function readOne(field: Field, text: string, client: AdminClient, io: Io): Promise<unknown> {
  const { flag, schema, path } = field;
  const collection = /^(source|destination|transformation)Ids?$/.exec(path.at(-1) ?? "")?.[1];
  if (collection === "source" && text === INCIDENT_SOURCE_ID) return text;
  if (collection === "source") return (await findByName("source", text, client.sources.list)).id;
  if (collection === "destination")
    return (await findByName("destination", text, client.destinations.list)).id;
  if (collection === "transformation")
    return (await findByName("transformation", text, client.transformations.list)).id;
  if (isDuration(field)) return readDuration(`--${flag}`, text);
  if (isJson(field)) return readJson(flag, text, io);
  if (schema.type !== "integer" && schema.type !== "number") return text;
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isFinite(number)) return number;
  throw new CommandFailure("usage", `--${flag} must be a number, got ${text}`);
}

/** JSON on the command line, or in a file: `@FILE`. A text that can only be a file's name needs no `@`. */
export async function readJson(flag: string, given: string, io: Io): Promise<unknown> {
  const isFile = !/^\s*[[{"\d]/.test(given);
  try {
    return JSON.parse(isFile ? await readFile(resolve(io.cwd, given.replace(/^@/, "")), "utf8") : given);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const problem = error instanceof SyntaxError ? "is not valid JSON" : "cannot be read";
    throw new CommandFailure(
      "usage",
      `${flag} ${problem}: ${reason}`,
      "Give JSON in single quotes, or @FILE",
    );
  }
}
