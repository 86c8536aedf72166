import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Of `clusterPartitions`. */
const MOST = 16;

const fileIn = (directory: string): string => join(directory, "partitions");

/** Notes the partitions of the cluster that is made in a data folder, because their number cannot change. */
export function notePartitions(directory: string, partitions: number): void {
  writeFileSync(fileIn(directory), `${partitions}\n`);
}

/**
 * The partitions of the cluster in a data folder. `asked`: as text; undefined: those that it has, or one. Throws if that is no number of
 * partitions, or another one than the folder has. Writes nothing.
 */
export function keptPartitions(directory: string, asked: string | undefined): number {
  const file = fileIn(directory);
  const wanted = asked === undefined ? undefined : Number(asked);
  if (wanted !== undefined && !(Number.isInteger(wanted) && wanted >= 1 && wanted <= MOST))
    throw new Error(`--partitions must be an integer from 1 to ${MOST}, got ${asked}`);
  if (existsSync(file) || existsSync(join(directory, "secrets.json"))) {
    const has = existsSync(file) ? Number(readFileSync(file, "utf8")) : 1;
    if (wanted !== undefined && wanted !== has)
      throw new Error(
        `The cluster in ${directory} has ${has} partition${has === 1 ? "" : "s"}, which cannot be changed. Leave out --partitions, or choose another folder with --data-dir`,
      );
    return has;
  }
  return wanted ?? 1;
}
