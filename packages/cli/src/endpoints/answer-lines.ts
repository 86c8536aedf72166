import { type AdminClient, allPages } from "@sluice/admin-client";
import type { CommandSpec, EndpointSpec, ListAnswer } from "@sluice/control-api";
import { isPlainObject } from "@sluice/protocol";
import type { Io } from "../terminal/io.js";
import { asStarted } from "../terminal/io.js";
import { shellWord } from "../terminal/style.js";
import { filled, recordText, rowsText, valueAt } from "./answer-text.js";
import { type Schema, TABLE } from "./fields.js";

interface Answered {
  readonly key: string;
  readonly endpoint: EndpointSpec;
  readonly spec: CommandSpec;
  readonly answer: object;
  /** What the command was about. */
  readonly item: object | undefined;
}

/** An answer as text: a line, a table of its rows, or all of its fields. */
export async function answerText(
  { key, endpoint, spec, answer, item }: Answered,
  client: AdminClient,
  io: Io,
): Promise<string> {
  const named = await withNames(answer, client);
  const line = spec.text === undefined ? undefined : filled(spec.text, { ...item, ...named });
  const head = line === undefined ? "" : `${line}\n`;
  const path = spec.rows ?? "items";
  const found = valueAt(named, path);
  const schema = endpoint.answer.schema as Schema | undefined;
  if (Array.isArray(found)) {
    if (found.length === 0 && spec.empty !== undefined) return `${spec.empty}\n`;
    const columns = spec.columns ?? columnsOf(schema?.properties?.[path]?.items);
    return head + (columns === undefined ? recordText({ [path]: found }, io) : rowsText(columns, found, io));
  }
  if (line !== undefined) return head;
  const columns = key.startsWith("GET ") ? undefined : columnsOf(schema);
  return columns === undefined ? recordText(named, io) : rowsText(columns, [named], io);
}

/** The columns of the command that lists such items. */
function columnsOf(schema: Schema | undefined): string | undefined {
  const lists = Object.values(TABLE).filter(
    ({ answer }) => (answer.schema as Schema | undefined)?.properties?.items?.items === schema,
  );
  return lists.flatMap(({ commands = [] }) => commands.flatMap(({ columns }) => columns ?? []))[0];
}

/** The lines after an answer: those of the command, and that a list goes on. */
export function noteText(isList: boolean, { notes = [] }: CommandSpec, answer: object, io: Io): string {
  const more = isList && "nextCursor" in answer ? ["There are more: use a higher --limit"] : [];
  return [...notes, ...more]
    .flatMap((note) => filled(note, answer, { skipsZero: true, quote: shellWord }) ?? [])
    .map((line) => `${io.errStyle.dim(asStarted(line, io))}\n`)
    .join("");
}

const REFERENCE = /^(source|destination|transformation)(Ids?)$/;

/** The answer with `destination: "Warehouse"` instead of `destinationId: "dst_1"`, and the same for sources. */
async function withNames(answer: object, client: AdminClient): Promise<object> {
  const kinds = new Set(referencesIn(answer));
  const names = new Map<string, string>();
  for (const kind of kinds) {
    const { list: page } = client[`${kind}s` as "sources" | "destinations" | "transformations"];
    const list = (cursor: string | undefined): Promise<ListAnswer<{ id: string; name: string }>> =>
      page({ cursor });
    for await (const { id, name } of allPages(list)) names.set(id, name);
  }
  return kinds.size === 0 ? answer : (renamed(answer, names) as object);
}

function referencesIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  if (!isPlainObject(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => REFERENCE.exec(name)?.[1] ?? referencesIn(inner));
}

function renamed(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (!isPlainObject(value)) return value;
  const nameOf = (id: unknown): unknown => names.get(String(id)) ?? id;
  return Object.fromEntries(
    Object.entries(value).map(([field, inner]) => {
      const [, kind, ids] = REFERENCE.exec(field) ?? [];
      if (kind === undefined) return [field, renamed(inner, names)];
      return Array.isArray(inner)
        ? [ids === "Ids" ? `${kind}s` : kind, inner.map(nameOf)]
        : [kind, nameOf(inner)];
    }),
  );
}
