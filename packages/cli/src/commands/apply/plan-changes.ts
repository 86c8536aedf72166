import { isPlainObject } from "@sluice/protocol";
import { type Difference, jsonDiff } from "../../terminal/json-diff.js";
import { asShown, MASKED } from "./as-shown.js";

/** A thing of the collector as it is now, in the fields in which it is declared. */
export interface CurrentItem {
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly [field: string]: unknown;
}

export type Section = "sources" | "destinations" | "audiences";

/** One thing that has to be done so that the collector is as declared. */
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
  /** Delete what is not declared, in the sections that are. */
  readonly prune: boolean;
  /** Send secrets again: the collector shows only that they are set, so a changed one cannot be seen. */
  readonly setSecrets: boolean;
}

/** The changes from what is to what is declared, in one section. */
export function planChanges(
  section: Section,
  declared: readonly (Fields & { readonly name: string })[] | undefined,
  current: readonly CurrentItem[],
  { prune, setSecrets }: PlanOptions,
): Change[] {
  if (declared === undefined) return [];
  const changes: Change[] = [];
  for (const fields of declared) {
    const now = current.find(({ name }) => name === fields.name);
    if (now === undefined) {
      changes.push({ action: "create", section, name: fields.name, fields });
      continue;
    }
    const restated = Object.entries(fields).map(([field, wanted]): [string, unknown] => [
      field,
      field === "settings" ? asShown(wanted, now[field], setSecrets) : wanted,
    ]);
    const differing = restated.filter(
      ([field, wanted]) => !agrees(wanted, now[field], setSecrets && field === "settings"),
    );
    if (differing.length === 0) continue;
    changes.push({
      action: "update",
      section,
      name: fields.name,
      id: now.id,
      version: now.version,
      fields: Object.fromEntries(differing),
      differences: differing.flatMap(([field, wanted]) => visible(jsonDiff(now[field], wanted, field))),
    });
  }
  if (prune) {
    const names = new Set(declared.map(({ name }) => name));
    for (const { id, name } of current)
      if (!names.has(name)) changes.push({ action: "delete", section, name, id });
  }
  return changes;
}

const SECRET = /secret|password|token|authorization|api[-_]?key/i;

/**
 * Whether what is shown can be what is wanted. A setting that is not shown (`sharedSecret`) is taken as agreeing where
 * the collector says that it is set (`sharedSecretSet`).
 */
function agrees(wanted: unknown, shown: unknown, setSecrets: boolean): boolean {
  if (typeof wanted === "string" && typeof shown === "string" && MASKED.test(shown)) return !setSecrets;
  if (Array.isArray(wanted))
    return (
      Array.isArray(shown) &&
      wanted.length === shown.length &&
      wanted.every((item, index) => agrees(item, shown[index], setSecrets))
    );
  if (!isPlainObject(wanted)) return JSON.stringify(wanted) === JSON.stringify(shown);
  if (!isPlainObject(shown)) return false;
  return Object.entries(wanted).every(([name, value]) => {
    if (Object.hasOwn(shown, name)) return agrees(value, shown[name], setSecrets);
    return shown[`${name}Set`] === true && !setSecrets;
  });
}

/** Without what the collector adds by itself, and without the values of secrets. */
function visible(differences: readonly Difference[]): Difference[] {
  return differences
    .filter(({ after }) => after !== undefined)
    .map((difference) => {
      if (!SECRET.test(difference.path)) return difference;
      return {
        path: difference.path,
        ...(difference.before === undefined ? {} : { before: { value: "(hidden)" } }),
        after: { value: "(hidden)" },
      };
    });
}
