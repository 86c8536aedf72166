import { isPlainObject } from "@sluice/protocol";

/**
 * Why a message's `integrations` keep it from a destination; undefined when they do not. The destination's own name
 * decides, else the catalog's, else `All`; a value that is no boolean means enabled. Names are case sensitive.
 */
export function disabledByIntegrations(
  integrations: unknown,
  ownName: string,
  catalogName: string,
): string | undefined {
  if (!isPlainObject(integrations)) return undefined;
  for (const name of [ownName, catalogName, "All"]) {
    if (Object.hasOwn(integrations, name)) {
      return integrations[name] === false ? `integrations: ${name} is false` : undefined;
    }
  }
  return undefined;
}
