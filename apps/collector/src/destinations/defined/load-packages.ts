import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { DESTINATION_INTERFACE, type DefinedDestination, defineDestination } from "@sluice/destination";
import { systemClock } from "@sluice/resilience";

/** A package with destinations that could not be used. Its destinations keep their messages until it can. */
export interface UnusablePackage {
  readonly package: string;
  /** Says what is wrong, and what to do. */
  readonly message: string;
}

export interface LoadedPackages {
  readonly loaded: readonly DefinedDestination[];
  readonly unusable: readonly UnusablePackage[];
}

/**
 * Loads packages by name, or files by a path that begins with `.` or `/`, as a module in `folder` would. A package has one definition as
 * its default export, or a list of them. Never rejects. One that takes longer than `limitMs` cannot be used, and holds up no other.
 */
export async function loadPackages(
  names: readonly string[],
  folder: string,
  builtIn: readonly string[],
  limitMs = LIMIT_MS,
): Promise<LoadedPackages> {
  const taken = new Map(builtIn.map((type) => [type, "the collector"]));
  const loaded: DefinedDestination[] = [];
  const unusable: UnusablePackage[] = [];
  const loading = [...new Set(names)].map((name) => [name, inTime(load(name, folder), limitMs)] as const);
  await Promise.allSettled(loading.map(([, exported]) => exported));
  for (const [name, exported] of loading) {
    try {
      const found = definitionsOf(await exported);
      for (const { definition } of found) {
        const other = taken.get(definition.type);
        if (other !== undefined) throw new Error(`Its type ${definition.type} is one of ${other} already`);
      }
      for (const one of found) taken.set(one.definition.type, name);
      loaded.push(...found);
    } catch (error) {
      unusable.push({ package: name, message: error instanceof Error ? error.message : String(error) });
    }
  }
  return { loaded, unusable };
}

const LIMIT_MS = 10_000;

/** A top-level `await` may never end. */
function inTime<T>(loading: Promise<T>, limitMs: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const message = `It was not loaded within ${limitMs / 1_000} s: something at the top of its module does not end`;
  const cancel = systemClock.after(limitMs, () => late.reject(new Error(message)));
  return Promise.race([loading, late.promise]).finally(cancel);
}

async function load(name: string, folder: string): Promise<unknown> {
  let path: string;
  try {
    path = createRequire(join(folder, "package.json")).resolve(name);
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_PACKAGE_PATH_NOT_EXPORTED")
      throw new Error('Its exports must have the condition "default" or "module-sync"');
    throw new Error(`It is not installed in ${folder}: run \`npm install ${name}\` there`);
  }
  try {
    return ((await import(pathToFileURL(path).href)) as { default?: unknown }).default;
  } catch (error) {
    throw new Error(
      `It threw while it was loaded: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

function definitionsOf(exported: unknown): readonly DefinedDestination[] {
  const list: readonly unknown[] = Array.isArray(exported) ? exported : [exported];
  return list.map((one) => {
    const { interfaceVersion, definition } = (one ?? {}) as Partial<DefinedDestination>;
    if (typeof interfaceVersion !== "number" || typeof definition?.type !== "string")
      throw new Error("Its default export must be what defineDestination of @sluice/destination returns");
    if (interfaceVersion !== DESTINATION_INTERFACE)
      throw new Error(
        `It is written for version ${interfaceVersion} of the interface, this collector has ${DESTINATION_INTERFACE}: install a version of the package that fits`,
      );
    return defineDestination(definition);
  });
}
