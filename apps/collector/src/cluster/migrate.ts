import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  CONTENT_NAMES,
  type Contents,
  differences,
  documentsOf,
  MigrationDiffers,
  type MigrationProgress,
  type MigrationResult,
  moveIn,
  moveOut,
  type StoredDocument,
} from "@sluice/event-log";
import { type Clock, systemClock } from "@sluice/resilience";
import { decodeKey, secretBox } from "../destinations/secret-box.js";
import { makeDataFolder } from "../process/data-folder.js";
import type { ClusterConfig } from "../process/settings/cluster-settings.js";
import type { ClusterEngine } from "./cluster-options.js";
import { readMark } from "./cluster-options.js";
import { openConfiguredEngine } from "./configured-engine.js";
import { keyFingerprint } from "./front/peer.js";
import { CannotMigrate, type ComparedContent, checkNoOwner } from "./migration.js";

export interface MigrateOptions {
  /** `in`: from the folder into the cluster. `out`: from the cluster into the folder. */
  readonly direction: "in" | "out";
  /** The data folder of a collector that runs on its own. */
  readonly directory: string;
  /** Which cluster. */
  readonly config: ClusterConfig;
  /** The value of `SLUICE_SECRET_KEY`. Without it, the folder's `secret.key` is used. */
  readonly secretKey: string | undefined;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: MigrationProgress) => void;
  readonly clock?: Clock;
  /** For tests. Default: the one that the configuration names. */
  readonly openEngine?: (fingerprint: string) => Promise<ClusterEngine>;
}

export interface MigrationReport {
  /** `done before`: an earlier run had finished. */
  readonly kind: "done" | "done before";
  readonly direction: "in" | "out";
  readonly cluster: string;
  readonly directory: string;
  readonly contents: readonly ComparedContent[];
  /** Where the secret key was found. */
  readonly secretKey: "environment" | "folder";
}

/** Moves all data of a collector into a cluster, or out of one, while no collector uses either. The source stays as it is. */
export async function migrate(options: MigrateOptions): Promise<MigrationReport> {
  const { direction, directory, config } = options;
  const { key, origin } = await secretKeyOf(options);
  if (direction === "in")
    await checkFolder(directory, key).catch((error: unknown) => {
      throw readable(error);
    });
  const engine = await openEngine(options, keyFingerprint(key, config.clusterName));
  try {
    const { kind, source, result } = await move(options, engine);
    return {
      ...{ kind, direction, cluster: config.clusterName, directory, secretKey: origin },
      contents: compared(source, result),
    };
  } catch (error) {
    throw readable(error);
  } finally {
    await engine.close();
  }
}

function openEngine(
  { direction, config, clock = systemClock, openEngine: open, signal }: MigrateOptions,
  fingerprint: string,
): Promise<ClusterEngine> {
  if (open !== undefined) return open(fingerprint);
  return openConfiguredEngine(config, {
    ...{ fingerprint, clusterId: undefined, clock, connectionName: "sluice migrate" },
    ...{ create: direction === "in", signal },
  });
}

/** Rejects if a process uses the cluster. */
async function move(options: MigrateOptions, engine: ClusterEngine): Promise<MigrationResult> {
  const { direction, directory, config, clock = systemClock, signal, onProgress } = options;
  const { clusterName, clusterLeaseMs: leaseMs } = config;
  const { leases } = engine;
  const check = await checkNoOwner({ leases, cluster: clusterName, leaseMs, clock, signal });
  const ends = { directory, engine, clock, signal, onProgress };
  if (direction === "in") return moveIn(ends);
  await makeDataFolder(directory);
  return moveOut({ ...ends, cluster: engine.cluster?.id ?? "", check });
}

/** Rejects if the folder cannot be moved with this key, before anything is made in the cluster. */
async function checkFolder(directory: string, key: Uint8Array): Promise<void> {
  const mark = await readMark(directory);
  if (mark !== undefined)
    throw new CannotMigrate(
      `${directory} is the data folder of a collector of the cluster "${mark.name}". Its data is in that cluster already`,
    );
  const documents = documentsOf(directory);
  const opened = openSecrets(documents, key);
  const inFile = await readFile(join(directory, "secret.key"), "utf8").catch(() => undefined);
  const kept = inFile === undefined ? undefined : decodeKey(inFile.trim());
  // Digests of user ids are made with the key too, and nothing shows with which one.
  if (opened === 0 && kept !== undefined && !Buffer.from(kept).equals(key))
    throw new CannotMigrate(
      `SLUICE_SECRET_KEY is not the key in ${join(directory, "secret.key")}. Set it to the one that the collector used; if that was never the one in the file, remove the file`,
    );
}

async function secretKeyOf({
  directory,
  secretKey = "",
}: MigrateOptions): Promise<{ readonly key: Uint8Array; readonly origin: MigrationReport["secretKey"] }> {
  const file = join(directory, "secret.key");
  const inFile = await readFile(file, "utf8").catch(() => undefined);
  const text = secretKey === "" ? inFile?.trim() : secretKey;
  if (text === undefined)
    throw new CannotMigrate(
      `The secret key is needed: set SLUICE_SECRET_KEY to the key of all collectors. The folder ${directory} has no file secret.key`,
    );
  const key = decodeKey(text);
  if (key === undefined)
    throw new CannotMigrate(
      `${secretKey === "" ? file : "SLUICE_SECRET_KEY"} must be 32 bytes in hex or base64`,
    );
  return { key, origin: secretKey === "" ? "folder" : "environment" };
}

const SEALED = /"(sealed\.v1\.[A-Za-z0-9_-]+)"/g;

/** Every secret in the folder must open with the key that the collectors of the cluster will have. Returns how many there are. */
function openSecrets(documents: readonly StoredDocument[], key: Uint8Array): number {
  const box = secretBox(key);
  let opened = 0;
  for (const { kind, id, json } of documents) {
    for (const [, sealed = ""] of json.matchAll(SEALED)) {
      try {
        box.open(sealed);
        opened += 1;
      } catch (error) {
        throw new CannotMigrate(
          `A secret of ${kind} ${id} was stored with another secret key. Set SLUICE_SECRET_KEY to the one that the collector used`,
          [],
          error,
        );
      }
    }
  }
  return opened;
}

function readable(error: unknown): unknown {
  if (error instanceof MigrationDiffers) {
    const { message, source, result } = error;
    const names = differences(source, result).join(", ");
    return new CannotMigrate(
      `${sentence(message)} (${names}). Nothing was put into use. Run the command again; if it happens again, check the memory and the disks`,
      compared(source, result),
      error,
    );
  }
  return (error as Error).name === "MigrationRefused"
    ? new CannotMigrate(sentence((error as Error).message), [], error)
    : error;
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function compared(source: Contents, result: Contents): ComparedContent[] {
  const different = new Set(differences(source, result));
  return CONTENT_NAMES.map((what) => ({
    ...{ what, source: source[what], result: result[what], isEqual: !different.has(what) },
  }));
}
