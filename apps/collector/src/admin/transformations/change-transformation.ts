import type { TransformationInput, TransformationPatch } from "@sluice/control-api";
import { type ConfigStore, DOCUMENT_KINDS, type Versioned } from "@sluice/event-log";
import { formatTime } from "@sluice/protocol";
import type { SecretBox } from "../../destinations/secret-box.js";
import {
  type DestinationDocument,
  type SourceDocument,
  type TransformationDocument,
  type TransformationVersionDocument,
  versionId,
} from "../../documents/documents.js";
import { newId } from "../../documents/new-id.js";
import { CollectorError } from "../../errors.js";
import type { Trials } from "../../transformations/trials.js";
import { documentResource } from "../document-resource.js";
import { requireRunnable } from "./code-error.js";

type Transformation = Versioned<TransformationDocument>;

/** Who changes it and when. */
export interface ChangeDeps {
  readonly config: ConfigStore;
  readonly secrets: SecretBox;
  readonly nowMs: number;
  /** The name of the token. */
  readonly by: string;
  readonly trials: Pick<Trials, "check">;
}

export const transformations = documentResource<TransformationDocument>(
  DOCUMENT_KINDS.transformation,
  "transformation",
);

const MAX_SECRETS = 20;
const SECRET_NAME = /^[A-Z][A-Z0-9_]{0,63}$/;

/** Stores the first version of the code, then the transformation. */
export async function createTransformation(
  input: TransformationInput,
  deps: ChangeDeps,
): Promise<Transformation> {
  const { config, nowMs } = deps;
  const { code, language = "typescript", secrets = {} } = input;
  const sealed = changedSecrets({}, secrets, deps.secrets);
  await requireRunnable(deps.trials, { code, language });
  const kind = DOCUMENT_KINDS.transformationVersion;
  const first = await config.put(kind, versionId(newId("tr"), 1), versionOf({ code, language }, deps), 0);
  const at = formatTime(nowMs);
  const document: TransformationDocument = {
    name: input.name,
    createdAt: at,
    changedAt: at,
    current: 1,
    newest: 1,
    secrets: sealed,
    secretsRevision: 1,
  };
  // The id is read from the version: a repeated request gets the version that the first one stored.
  return config.put(DOCUMENT_KINDS.transformation, first.id.replace(/@.*$/, ""), document, 0);
}

/** Changes a transformation. A new version and what points to it are stored together. */
export async function patchTransformation(
  { id, version, value: before }: Transformation,
  patch: TransformationPatch,
  deps: ChangeDeps,
): Promise<Transformation> {
  const { config } = deps;
  const { name = before.name, current = before.current, secrets } = patch;
  const added = await addedVersion(id, before, patch, deps);
  if (current > before.newest)
    throw invalid("current", `there is no version ${current}: the newest is ${before.newest}`);
  const number = before.newest + 1;
  const after: TransformationDocument = {
    ...before,
    name,
    changedAt: formatTime(deps.nowMs),
    ...(added === undefined ? { current } : { current: number, newest: number }),
    ...(secrets === undefined
      ? {}
      : {
          secrets: changedSecrets(before.secrets, secrets, deps.secrets),
          secretsRevision: before.secretsRevision + 1,
        }),
  };
  const { transformation, transformationVersion } = DOCUMENT_KINDS;
  const change = { kind: transformation, id, value: after, expected: version };
  const stored = await config.putAll(
    added === undefined
      ? [change]
      : [{ kind: transformationVersion, id: versionId(id, number), value: added, expected: 0 }, change],
  );
  return stored.at(-1) as Transformation;
}

/** The version that the change saves. Undefined if the code in force stays as it is. */
async function addedVersion(
  id: string,
  { current }: TransformationDocument,
  { code, language, current: wanted }: TransformationPatch,
  deps: ChangeDeps,
): Promise<TransformationVersionDocument | undefined> {
  if (code === undefined && language === undefined) return undefined;
  if (wanted !== undefined)
    throw invalid("current", "it puts a version in force that exists: send it without code and language");
  const now = await findVersion(deps.config, id, current);
  const wished = { code: code ?? now.code, language: language ?? now.language };
  if (wished.code === now.code && wished.language === now.language) return undefined;
  await requireRunnable(deps.trials, wished);
  return versionOf(wished, deps);
}

function versionOf(
  { code, language }: Pick<TransformationVersionDocument, "code" | "language">,
  { nowMs, by }: ChangeDeps,
): TransformationVersionDocument {
  return { code, language, createdAt: formatTime(nowMs), createdBy: by };
}

/** The sealed secrets after a change. */
function changedSecrets(
  before: TransformationDocument["secrets"],
  change: NonNullable<TransformationPatch["secrets"]>,
  box: SecretBox,
): TransformationDocument["secrets"] {
  const after = new Map(Object.entries(before));
  for (const [name, value] of Object.entries(change)) {
    if (!SECRET_NAME.test(name))
      throw invalid(
        `secrets.${name}`,
        "a secret's name has capitals, digits and _, starts with a capital and has at most 64 characters",
      );
    if (value === null) after.delete(name);
    else after.set(name, box.seal(value));
  }
  if (after.size > MAX_SECRETS)
    throw invalid("secrets", `at most ${MAX_SECRETS}, and these would be ${after.size}`);
  return Object.fromEntries(after);
}

/** Deletes a transformation with its versions. Throws `conflict` if it is attached. */
export async function deleteTransformation(
  config: ConfigStore,
  { id, value }: Transformation,
): Promise<void> {
  const { destinations, sources } = await attachedTo(config, id);
  const named = [...destinations.map(nameIn("destination")), ...sources.map(nameIn("source"))];
  if (named.length > 0)
    throw new CollectorError(
      "conflict",
      `${value.name} is attached to ${named.join(", ")}: detach it there first`,
      {
        details: {
          destinationIds: destinations.map((one) => one.id),
          sourceIds: sources.map((one) => one.id),
        },
      },
    );
  await config.delete(DOCUMENT_KINDS.transformation, id);
  for (let number = 1; number <= value.newest; number++)
    await config.delete(DOCUMENT_KINDS.transformationVersion, versionId(id, number));
}

function nameIn(noun: string): (one: Versioned<{ readonly name: string }>) => string {
  return ({ value }) => `the ${noun} ${value.name}`;
}

/** What a transformation is attached to. */
export async function attachedTo(config: ConfigStore, id: string) {
  const isAttached = ({ value }: Versioned<{ readonly transformationId?: string }>): boolean =>
    value.transformationId === id;
  const { destination, source } = DOCUMENT_KINDS;
  return {
    destinations: (await config.list<DestinationDocument>(destination)).filter(isAttached),
    sources: (await config.list<SourceDocument>(source)).filter(isAttached),
  };
}

export async function findVersion(
  config: Pick<ConfigStore, "get">,
  id: string,
  number: number,
): Promise<TransformationVersionDocument> {
  const kind = DOCUMENT_KINDS.transformationVersion;
  const found = await config.get<TransformationVersionDocument>(kind, versionId(id, number));
  if (found === undefined) throw new CollectorError("not_found", `${id} has no version ${number}`);
  return found.value;
}

function invalid(path: string, message: string): CollectorError {
  return new CollectorError("invalid_request", `${path}: ${message}`, {
    details: { issues: [{ path, message }] },
  });
}
