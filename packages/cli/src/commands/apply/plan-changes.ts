import { isPlainObject } from "@sluice/protocol";
import { type Difference, jsonDiff } from "../../terminal/terminal-text.js";

import type { DeclaredConfig } from "./declared-config.js";

/** How the collector shows a secret value. If it is sent back, the collector keeps the value. */
const MASKED = /^[•*]+$/;

/**
 * Declared settings in the form in which the collector shows them: with normalized URLs and, unless `setSecrets`, without
 * secrets that are already set. What still differs has to be sent.
 */
function asShown(wanted: unknown, shown: unknown, setSecrets: boolean): unknown {
  if (typeof wanted === "string" && typeof shown === "string" && MASKED.test(shown))
    return setSecrets ? wanted : shown;
  if (Array.isArray(wanted) && Array.isArray(shown))
    return wanted.map((item: unknown, index) => {
      const now: unknown = shown[index];
      // The collector stores a header's value with its URL, so it has to be sent for a new URL.
      const isOtherUrl = isPlainObject(item) && isPlainObject(now) && normalUrl(item.url) !== now.url;
      return isOtherUrl ? item : asShown(item, now, setSecrets);
    });
  if (!isPlainObject(wanted) || !isPlainObject(shown)) return wanted;
  return Object.fromEntries(
    Object.entries(wanted).flatMap(([name, value]): [string, unknown][] => {
      if (!Object.hasOwn(shown, name))
        return shown[`${name}Set`] === true && !setSecrets ? [] : [[name, value]];
      if (name === "url" && normalUrl(value) === shown[name]) return [[name, shown[name]]];
      return [[name, asShown(value, shown[name], setSecrets)]];
    }),
  );
}

/** A URL as the collector stores it: `http://127.0.0.1:3000/` for `http://127.0.0.1:3000`, and without a fragment. */
function normalUrl(value: unknown): unknown {
  if (typeof value !== "string" || !URL.canParse(value)) return value;
  const url = new URL(value);
  url.hash = "";
  return url.href;
}

/** An item as it is in the collector, with the same fields as a declared one. */
export interface CurrentItem {
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly [field: string]: unknown;
}

export type Section = "transformations" | "sources" | "destinations" | "audiences";

/** What one item of a section is called in messages. */
export const NOUNS = {
  transformations: "transformation",
  sources: "source",
  destinations: "destination",
  audiences: "audience",
} as const;

/** One change that makes the collector match the declared configuration. */
export type Change =
  | { readonly action: "create"; readonly section: Section; readonly name: string; readonly fields: Fields }
  | {
      readonly action: "update";
      readonly section: Section;
      readonly name: string;
      readonly id: string;
      readonly version: number;
      /** Only the fields that differ. */
      readonly fields: Fields;
      readonly differences: readonly Difference[];
    }
  | { readonly action: "delete"; readonly section: Section; readonly name: string; readonly id: string };

export type Fields = { readonly [field: string]: unknown };

export interface PlanOptions {
  /** Delete items that are not declared, in the sections that are declared. */
  readonly prune: boolean;
  /** Send secrets again. The collector only shows that a secret is set, so a changed one is not noticed. */
  readonly setSecrets: boolean;
}

/** All changes in an order in which they can be made: items are created before, and deleted after, those that refer to them. */
export function planAllChanges(
  declared: DeclaredConfig,
  current: { readonly [Name in Exclude<Section, "transformations">]: readonly CurrentItem[] },
  transformations: readonly Change[],
  options: PlanOptions,
): Change[] {
  const sources = declared.sources?.map((one) => ({ ...one }));
  const destinations = declared.destinations?.map((one) => ({
    type: "webhooks",
    ...one,
    ...(one.sources === undefined ? {} : { sources: [...one.sources].sort() }),
  }));
  const audiences = declared.audiences?.map((one) => ({
    ...one,
    ...(one.destinations === undefined ? {} : { destinations: [...one.destinations].sort() }),
  }));
  const changes = [
    ...transformations,
    ...planChanges("sources", sources, current.sources, options),
    ...planChanges("destinations", destinations, current.destinations, options),
    ...planChanges("audiences", audiences, current.audiences, options),
  ];
  const isDelete = ({ action }: Change) => action === "delete";
  return [...changes.filter((change) => !isDelete(change)), ...changes.filter(isDelete).reverse()];
}

/** The changes in one section. */
export function planChanges(
  section: Section,
  declared: readonly (Fields & { readonly name: string })[] | undefined,
  current: readonly CurrentItem[],
  options: PlanOptions,
): Change[] {
  if (declared === undefined) return [];
  const changes = declared.flatMap((fields) => {
    const now = current.find(({ name }) => name === fields.name);
    if (now === undefined) return [{ action: "create", section, name: fields.name, fields } as const];
    return planUpdate(section, fields, now, options.setSecrets);
  });
  return [...changes, ...planDeletes(section, declared, current, options)];
}

/** Items that are not declared, if they are to be deleted. */
export function planDeletes(
  section: Section,
  declared: readonly { readonly name: string }[],
  current: readonly Pick<CurrentItem, "id" | "name">[],
  { prune }: PlanOptions,
): Change[] {
  if (!prune) return [];
  const names = new Set(declared.map(({ name }) => name));
  return current
    .filter(({ name }) => !names.has(name))
    .map(({ id, name }) => ({ action: "delete", section, name, id }) as const);
}

function planUpdate(
  section: Section,
  declared: Fields & { readonly name: string },
  now: CurrentItem,
  setSecrets: boolean,
): Change[] {
  const wantedFields = Object.entries(declared).map(([field, wanted]): [string, unknown] => [
    field,
    field === "settings" ? asShown(wanted, now[field], setSecrets) : wanted,
  ]);
  const differing = wantedFields.filter(
    ([field, wanted]) => !agrees(wanted, now[field], setSecrets && field === "settings"),
  );
  if (differing.length === 0) return [];
  const { name } = declared;
  const { id, version } = now;
  const fields = Object.fromEntries(differing);
  const differences = differing.flatMap(([field, wanted]) => shown(jsonDiff(now[field], wanted, field)));
  return [{ action: "update", section, name, id, version, fields, differences }];
}

const SECRET = /secret|password|token|authorization|api[-_]?key/i;

/**
 * Whether the collector may already have the wanted value. A setting that it does not show (`sharedSecret`) agrees if the
 * collector says that it is set (`sharedSecretSet`).
 */
function agrees(wanted: unknown, current: unknown, setSecrets: boolean): boolean {
  if (typeof wanted === "string" && typeof current === "string" && MASKED.test(current)) return !setSecrets;
  if (Array.isArray(wanted))
    return (
      Array.isArray(current) &&
      wanted.length === current.length &&
      wanted.every((item, index) => agrees(item, current[index], setSecrets))
    );
  if (!isPlainObject(wanted)) return JSON.stringify(wanted) === JSON.stringify(current);
  if (!isPlainObject(current)) return false;
  return Object.entries(wanted).every(([name, value]) => {
    if (Object.hasOwn(current, name)) return agrees(value, current[name], setSecrets);
    return current[`${name}Set`] === true && !setSecrets;
  });
}

/** The differences without fields that only the collector sets, and without the values of secrets and custom headers. */
function shown(differences: readonly Difference[]): Difference[] {
  return differences
    .filter(({ after }) => after !== undefined)
    .map(({ path, before, after }) => ({
      path,
      ...(before === undefined ? {} : { before: { value: withoutSecrets(before.value, path) } }),
      after: { value: withoutSecrets(after?.value, path) },
    }));
}

/** The value without secrets in it. `path` ends with its name. */
function withoutSecrets(value: unknown, path: string): unknown {
  if (SECRET.test(path) || /\.headers\./.test(path)) return "(hidden)";
  if (Array.isArray(value)) return value.map((item, index) => withoutSecrets(item, `${path}[${index}]`));
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, withoutSecrets(inner, `${path}.${name}`)]),
  );
}
