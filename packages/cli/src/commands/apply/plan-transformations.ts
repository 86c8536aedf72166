import { resolve } from "node:path";
import type { TransformationView } from "@sluice/control-api";
import { CommandFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";
import type { Difference } from "../../terminal/terminal-text.js";
import { readCode } from "../transformations/read-code.js";
import type { DeclaredTransformation } from "./declared-config.js";
import { type Change, type PlanOptions, planDeletes } from "./plan-changes.js";

export type CurrentTransformation = Pick<
  TransformationView,
  "id" | "version" | "name" | "code" | "language" | "current" | "secretNames"
>;

/** A declared transformation with the code in its file. */
export type WantedTransformation = DeclaredTransformation & Pick<TransformationView, "code" | "language">;

/** Reads the code that transformations name. */
export async function readTransformations(
  declared: readonly DeclaredTransformation[] | undefined,
  folder: string,
  io: Io,
): Promise<WantedTransformation[] | undefined> {
  if (declared === undefined) return undefined;
  return Promise.all(
    declared.map(async (one) => {
      if (typeof one.file !== "string")
        throw new CommandFailure("usage", `transformations: ${one.name} needs a file with its code`);
      return { ...one, ...(await readCode(resolve(folder, one.file), io)) };
    }),
  );
}

/** The changes of transformations: their code is compared, of their secrets only the names. */
export function planTransformations(
  declared: readonly WantedTransformation[] | undefined,
  current: readonly CurrentTransformation[],
  options: PlanOptions,
): Change[] {
  if (declared === undefined) return [];
  const section = "transformations";
  const changes = declared.flatMap((wanted): Change[] => {
    const { name, code, language, secrets } = wanted;
    const now = current.find((one) => one.name === name);
    if (now === undefined) {
      const fields = { name, code, language, ...(secrets === undefined ? {} : { secrets }) };
      return [{ action: "create", section, name, fields }];
    }
    const isNew = code !== now.code || language !== now.language;
    const changed = changedSecrets(secrets, now.secretNames, options);
    const differences: Difference[] = [
      ...(isNew ? [difference("code", `version ${now.current}`, wanted.file)] : []),
      ...Object.entries(changed).map(([secret, value]) =>
        difference(`secrets.${secret}`, undefined, value === null ? null : "(hidden)"),
      ),
    ];
    if (differences.length === 0) return [];
    const fields = {
      ...(isNew ? { code, language } : {}),
      ...(Object.keys(changed).length === 0 ? {} : { secrets: changed }),
    };
    const { id, version } = now;
    return [{ action: "update", section, name, id, version, fields, differences }];
  });
  return [...changes, ...planDeletes(section, declared, current, options)];
}

/** The secrets to send: those that are not set, or all on request; null for those that are set and not declared. */
function changedSecrets(
  wanted: DeclaredTransformation["secrets"],
  names: readonly string[],
  { setSecrets }: PlanOptions,
): { [name: string]: string | null } {
  if (wanted === undefined) return {};
  const sent = Object.entries(wanted).filter(([name]) => setSecrets || !names.includes(name));
  const removed = names.filter((name) => !Object.hasOwn(wanted, name)).map((name) => [name, null] as const);
  return Object.fromEntries([...sent, ...removed]);
}

function difference(path: string, before: unknown, after: unknown): Difference {
  return { path, ...(before === undefined ? {} : { before: { value: before } }), after: { value: after } };
}
