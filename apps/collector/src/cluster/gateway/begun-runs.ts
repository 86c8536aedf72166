import { createHash } from "node:crypto";
import { ID_LENGTH, textOfBytes } from "../../documents/new-id.js";
import type { HttpRequest } from "../../http/routing/route.js";
import type { Owners, PartAnswer } from "./ask-owners.js";

/** What a request starts, and what an earlier one with the same `Idempotency-Key` has started. */
export interface BegunRuns {
  /** Names the run in the partitions where it begins now. */
  readonly run: string;
  /** The parts that are there. */
  readonly parts: readonly PartAnswer[];
  /** The partitions that have none. */
  readonly rest: readonly number[];
}

export interface RunPlace {
  /** Below the control API: `/operations`. */
  readonly collection: string;
  /** Of the ids there: `op`. */
  readonly prefix: string;
}

/**
 * A repeated request finds what the first one has started by its id, which follows from the key, and begins it where the first one did not
 * come. Each partition keeps the answer to its own request, but which partitions are asked may have changed since.
 */
export async function begunRuns(
  owners: Owners,
  request: HttpRequest,
  concerned: readonly number[],
  input: object,
  { collection, prefix }: RunPlace,
): Promise<BegunRuns> {
  const name = nameOfKey(request, input);
  if (name === undefined) return { run: owners.newRun(), parts: [], rest: concerned };
  const path = `/api/v1${collection}/${prefix}_${name}`;
  const answers = await Promise.all(
    concerned.map((partition) => owners.ask(partition, request, { method: "GET", path })),
  );
  const parts = answers.filter(({ status }) => status === 200);
  const [first] = parts as readonly { readonly body: unknown }[];
  const createdAt = (first?.body as { readonly createdAt?: string } | undefined)?.createdAt;
  return {
    run: owners.newRun({ name, ...(createdAt === undefined ? {} : { createdAtMs: Date.parse(createdAt) }) }),
    parts,
    rest: answers.filter(({ status }) => status !== 200).map(({ partition }) => partition),
  };
}

/** The same for the same request of the same token. */
function nameOfKey({ headers, path }: HttpRequest, input: object): string | undefined {
  const key = headers["idempotency-key"];
  if (typeof key !== "string" || key === "") return undefined;
  const request = JSON.stringify([headers.authorization ?? "", key, path, input]);
  return textOfBytes(createHash("sha256").update(request).digest()).slice(0, ID_LENGTH);
}
