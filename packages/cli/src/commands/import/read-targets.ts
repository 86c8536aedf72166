import { type AdminClient, AdminError } from "@sluice/admin-client";
import { collect } from "../../connection/collect.js";
import { type ConnectionOptions, connect } from "../../connection/connection.js";
import { CommandFailure } from "../../failures.js";
import type { Io } from "../../terminal/io.js";

export interface KnownTargets {
  readonly kind: "known";
  readonly client: Pick<AdminClient, "call">;
  readonly sourceId: string;
  readonly source: string;
  /** Names of destinations that get new messages. */
  readonly enabled: readonly string[];
  /** Names of connected destinations that are disabled. */
  readonly disabled: readonly string[];
}

/** The destinations that get what is sent with a write key. */
export type Targets =
  | KnownTargets
  /** The control API cannot be asked: there is no token, or it does not see the write key. */
  | { readonly kind: "unknown"; readonly reason: string };

export async function readTargets(options: ConnectionOptions, writeKey: string, io: Io): Promise<Targets> {
  try {
    const client = await connect(options, io);
    const sources = await collect((cursor) => client.sources.list({ cursor }));
    const source = sources.find(({ writeKeys }) => writeKeys.some(({ key }) => key === writeKey));
    if (source === undefined) return { kind: "unknown", reason: "the token does not see this write key" };
    const connected = (await collect((cursor) => client.destinations.list({ cursor }))).filter(
      ({ sourceIds }) => sourceIds.includes(source.id),
    );
    const names = (enabled: boolean): string[] =>
      connected.filter((one) => one.enabled === enabled).map(({ name }) => name);
    return {
      kind: "known",
      client,
      sourceId: source.id,
      source: source.name,
      enabled: names(true),
      disabled: names(false),
    };
  } catch (error) {
    // An import needs no admin token: it only says less without one.
    if (error instanceof AdminError) return { kind: "unknown", reason: error.code };
    if (error instanceof CommandFailure) return { kind: "unknown", reason: "there is no admin token" };
    throw error;
  }
}
