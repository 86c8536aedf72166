import { isPlainObject } from "@sluice/protocol";

/**
 * Why a message's `integrations` exclude a destination, or undefined. The destination's own name takes precedence, then the catalog
 * name, then `All`. A value that is not a boolean means enabled. Names are case-sensitive.
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

/** Whether a message's `integrations` ask for a destination by its own or its catalog name. `All` names none. */
export function isNamed(integrations: unknown, ownName: string, catalogName: string): boolean {
  if (!isPlainObject(integrations)) return false;
  const name = [ownName, catalogName].find((one) => Object.hasOwn(integrations, one));
  return name !== undefined && integrations[name] !== false;
}
