import type { AdminClient } from "@sluice/admin-client";
import type { CommandSpec, EndpointKey, EndpointSpec, ListAnswer } from "@sluice/control-api";
import { Argument, type Command } from "commander";
import { readInteger } from "../arguments.js";
import { connect, connectedCommand } from "../connection/connection.js";
import { collectUpTo, findByName } from "../connection/find-by-name.js";
import { examples } from "../definition.js";
import { CommandFailure } from "../failures.js";
import { confirmRemoval } from "../terminal/confirm.js";
import type { Io } from "../terminal/io.js";
import { show } from "../terminal/terminal-text.js";
import { answerText, noteText } from "./answer-lines.js";
import { filled } from "./answer-text.js";
import { addArgument, addOption, type Field, fieldsOf, readField, type Schema, TABLE } from "./fields.js";

/** What a command knows when it runs. */
export interface Call {
  readonly client: AdminClient;
  readonly options: { readonly [name: string]: unknown };
  /** What the first argument names, if it has a name. */
  readonly item: { readonly [field: string]: unknown } | undefined;
  readonly io: Io;
}

/** What a command does besides calling its endpoint. */
export interface Extra {
  options?(command: Command): void;
  /** Fields of the body besides those of the options. */
  body?(call: Call, input: { readonly [name: string]: unknown }): Promise<object>;
  /** The answer with what other endpoints know. */
  answer?(answer: unknown, call: Call): Promise<unknown>;
  text?(answer: unknown, call: Call): string;
  /** Throws if the answer is a failure although the request was none. */
  check?(answer: unknown): void;
}

const LIMIT = { min: 1, max: 10_000 };

/** The command for an endpoint: arguments and options from its path and schemas, and one way to call it and to show the answer. */
export function endpointCommand(key: string, spec: CommandSpec, extra: Extra, io: Io): Command {
  const endpoint = TABLE[key as keyof typeof TABLE] as EndpointSpec;
  const summary = spec.summary ?? endpoint.summary;
  const name = spec.name.split(" ").at(-1) ?? "";
  const command = connectedCommand(name, summary.charAt(0).toLowerCase() + summary.slice(1));
  const params = [...key.matchAll(/\/([\w-]+)\/:(\w+)/g)].map(([, collection = "", param = ""]) => ({
    param,
    collection: hasNames(collection) ? collection : undefined,
  }));
  for (const { param, collection } of params)
    command.addArgument(
      collection === undefined
        ? new Argument(`<${param}>`)
        : new Argument(`<${nounOf(collection).split(" ").at(-1)}>`, "its id or name"),
    );
  const fields = chosenFields(key, endpoint, spec);
  for (const field of fields.arguments) addArgument(command, field);
  if (fields.arguments.some(({ none }) => none !== undefined)) command.option("--none", "none of them");
  for (const field of fields.options) addOption(command, field, spec);
  if (hasPages(endpoint)) {
    const all = spec.limit === undefined ? "; default: all" : "";
    command.option("-n, --limit <n>", `show at most n${all}`, spec.limit?.toString());
  }
  if (spec.confirm !== undefined) command.option("--yes", "do not ask for confirmation");
  extra.options?.(command);
  command.action(async () => {
    await new Running({ key, endpoint, spec, extra, params, fields, command, io }).run();
  });
  return examples(command, [["", ["sluice", spec.name, spec.example ?? ""].join(" ").trim()]]);
}

interface ChosenFields {
  readonly arguments: readonly Field[];
  readonly options: readonly Field[];
}

function chosenFields(key: string, { query, body }: EndpointSpec, spec: CommandSpec): ChosenFields {
  const all = fieldsOf(((query ?? body) as Schema | undefined) ?? {}, spec, key.startsWith("PATCH "));
  const named = (name: string) => all.filter(({ path }) => path.at(-1) === name);
  const args = (spec.arguments ?? []).flatMap(named);
  const chosen = spec.send === undefined ? spec.fields : [];
  return {
    arguments: args,
    options: all.filter(
      (field) => !args.includes(field) && (chosen === undefined || chosen.includes(field.path[0] ?? "")),
    ),
  };
}

function hasPages({ query }: EndpointSpec): boolean {
  return query?.properties.cursor !== undefined;
}

/** Whether the items of a collection have names, so that a command can find one by it. */
function hasNames(collection: string): boolean {
  const list = TABLE[`GET /${collection}`]?.answer.schema as Schema | undefined;
  return list?.properties?.items?.items?.properties?.name !== undefined;
}

/** `computed-traits` → `computed trait`. */
function nounOf(collection: string): string {
  return collection.replaceAll("-", " ").replace(/s$/, "");
}

interface Definition {
  readonly key: string;
  readonly endpoint: EndpointSpec;
  readonly spec: CommandSpec;
  readonly extra: Extra;
  readonly params: readonly { readonly param: string; readonly collection: string | undefined }[];
  readonly fields: ChosenFields;
  readonly command: Command;
  readonly io: Io;
}

/** One run of a command. */
class Running {
  readonly #definition: Definition;
  readonly #options: { readonly [name: string]: unknown };
  readonly #params: { [name: string]: string } = {};
  #item: Call["item"];

  constructor(definition: Definition) {
    this.#definition = definition;
    this.#options = definition.command.opts();
  }

  async run(): Promise<void> {
    const { endpoint, spec, extra, io } = this.#definition;
    const options = this.#options;
    const client = await connect(options, io);
    await this.#readParams(client);
    const call: Call = { client, options, item: this.#item, io };
    const input = await this.#input(client);
    const sent = endpoint.body === undefined ? undefined : { ...input, ...(await extra.body?.(call, input)) };
    if (spec.send === undefined) this.#checkChange(sent);
    if (spec.confirm !== undefined && options.dryRun !== true) await this.#confirm(client, sent);
    const received = hasPages(endpoint)
      ? await this.#list(client, input)
      : await this.#send(client, endpoint.body === undefined ? { query: input } : { body: sent });
    const answer = (await extra.answer?.(received, call)) ?? received ?? this.#done();
    const text = extra.text?.(answer, call) ?? (await this.#text(client, answer, received === undefined));
    await show(io, options.json === true, answer, () => text);
    if (options.json !== true)
      io.err(noteText(hasPages(endpoint), spec, { ...this.#item, ...(answer as object) }, io));
    extra.check?.(answer);
  }

  async #readParams(client: AdminClient): Promise<void> {
    const { params, command } = this.#definition;
    for (const [index, { param, collection }] of params.entries()) {
      const given = command.args[index] ?? "";
      if (collection === undefined) this.#params[param] = given;
      else {
        const list = (query: object) => client.call(`GET /${collection}` as "GET /sources", { query });
        const found = await findByName(nounOf(collection), given, list);
        this.#item = found;
        this.#params[param] = found.id;
      }
    }
  }

  /** The query or body from arguments and options. */
  async #input(client: AdminClient): Promise<{ [name: string]: unknown }> {
    const { spec, params, fields, command, io } = this.#definition;
    const input: { [name: string]: unknown } = { ...spec.send };
    const set = async (field: Field, given: unknown): Promise<void> => {
      const value = await readField(field, given, client, io);
      if (value !== undefined) place(input, field.path, value);
    };
    for (const [index, field] of fields.arguments.entries())
      await set(field, this.#options.none === true ? false : command.processedArgs[params.length + index]);
    for (const field of fields.options) await set(field, this.#options[attributeOf(field)]);
    return input;
  }

  /** A change needs at least one option, and is refused if somebody else has changed the item since it was read. */
  #checkChange(body: { [name: string]: unknown } | undefined): void {
    const { key, fields } = this.#definition;
    if (body === undefined || !key.startsWith("PATCH ")) return;
    if (Object.keys(body).length === 0) {
      const [first] = fields.options;
      throw new CommandFailure("usage", `Give at least one option, such as --${first?.flag}`);
    }
    if (typeof this.#item?.version === "number") body.version = this.#item.version;
  }

  async #confirm(client: AdminClient, body: object | undefined): Promise<void> {
    const { spec, io, fields } = this.#definition;
    const question = filled(spec.confirm ?? "", { ...this.#params, ...this.#item }) ?? "";
    const hasDryRun = fields.options.some(({ flag }) => flag === "dry-run");
    const isYes = this.#options.yes === true;
    if (hasDryRun && (isYes ? this.#options.json !== true : io.canAsk)) {
      const planned = await this.#send(client, { body: { ...body, dryRun: true } });
      io.err(await this.#text(client, planned, false));
    }
    await confirmRemoval(
      {
        consequence: `This needs a confirmation: ${question.charAt(0).toLowerCase()}${question.slice(1)}`,
        question: `${question}?`,
        declined: `Nothing was ${spec.done ?? (/^Delete/.test(question) ? "deleted" : "changed")}.`,
        isYes,
      },
      io,
    );
  }

  #send(client: AdminClient, input: object): Promise<unknown> {
    return client.call(this.#definition.key as EndpointKey, { params: this.#params, ...input } as never);
  }

  /** The first items of a list, with the other fields of its last page. */
  async #list(client: AdminClient, query: object): Promise<object> {
    const { limit } = this.#options;
    const most =
      limit === undefined
        ? Number.POSITIVE_INFINITY
        : readInteger("--limit", String(limit), LIMIT.min, LIMIT.max);
    let last = {};
    let searched = 0;
    const found = await collectUpTo(most, async (page) => {
      const size = Math.min(page.limit, 500);
      last = (await this.#send(client, { query: { ...query, ...page, limit: size } })) as object;
      searched += (last as { searched?: number }).searched ?? 0;
      return last as ListAnswer<unknown>;
    });
    const { nextCursor: _, ...fields } = last as ListAnswer<unknown>;
    return { ...fields, ...found, ...(searched > 0 ? { searched } : {}) };
  }

  /** Stands for an answer without a body. */
  #done(): object {
    const { spec, params } = this.#definition;
    const id = this.#params[params.at(-1)?.param ?? ""];
    return id === undefined ? { [spec.name]: true } : { [spec.done ?? "deleted"]: id };
  }

  async #text(client: AdminClient, answer: unknown, isDone: boolean): Promise<string> {
    const { key, endpoint, spec, io } = this.#definition;
    if (isDone) {
      const [word = "", what] = Object.entries(answer as object)[0] ?? [];
      return what === true ? `${spec.done}\n` : `${word} ${what}\n`;
    }
    return answerText({ key, endpoint, spec, answer: answer as object, item: this.#item }, client, io);
  }
}

/** Sets a field of an object, which may be inside others. */
function place(target: { [name: string]: unknown }, path: readonly string[], value: unknown): void {
  const [name = "", ...rest] = path;
  if (rest.length === 0) target[name] = value;
  else {
    target[name] ??= {};
    place(target[name] as { [name: string]: unknown }, rest, value);
  }
}

/** The name of an option's value in Commander: `retryFor`. */
function attributeOf({ flag, schema }: Field): string {
  return schema.const === null
    ? "remove"
    : flag.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}
