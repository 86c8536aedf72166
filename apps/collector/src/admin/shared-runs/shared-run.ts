import type { HttpRequest } from "../../http/routing/route.js";

/** In a request that a process of a cluster sends to several partitions. The front lets it come from such processes only. */
export const RUN_HEADER = "sluice-peer-run";

/** What several partitions start by one request has one id, and one time, in all of them. So lists can show it once. */
export interface SharedRun {
  /** Without the prefix of its kind. */
  readonly name: string;
  readonly createdAtMs: number;
}

export function writeSharedRun({ name, createdAtMs }: SharedRun): string {
  return `${name} ${createdAtMs}`;
}

const RUN = /^([0-9A-Za-z]{16}) (\d{1,15})$/;

/** Undefined: only this partition is asked, or the cluster has one. */
export function sharedRun(
  { headers }: Pick<HttpRequest, "headers">,
  { partitions = 1 }: { readonly partitions?: number | undefined },
): SharedRun | undefined {
  const given = headers[RUN_HEADER];
  const match = partitions === 1 || typeof given !== "string" ? null : RUN.exec(given);
  return match === null ? undefined : { name: match[1] as string, createdAtMs: Number(match[2]) };
}

/** Newest first, in the same order in every partition. `timeOf` names the time. */
export function sharedOrder<N extends string>(timeOf: N) {
  type Listed = { readonly id: string } & { readonly [name in N]: string };
  const isBefore = (one: Listed, other: Listed): boolean =>
    one[timeOf] === other[timeOf] ? one.id > other.id : one[timeOf] > other[timeOf];
  return {
    isBefore,
    sorted: <T extends Listed>(items: readonly T[]): readonly T[] =>
      [...items].sort((one, other) => (isBefore(one, other) ? -1 : 1)),
  };
}

export const BY_CREATION = sharedOrder("createdAt");
export const BY_CHANGE = sharedOrder("at");
