const VARIABLES = ["DEBUG", "SLUICE_URL", "SLUICE_WRITE_KEY", "SLUICE_OREGON_URL", "SLUICE_DUBLIN_URL"];

/** The environment variables that the SDK reads, if the runtime has them and allows it: Deno needs a permission. */
export function environmentVariables(): Readonly<Record<string, string | undefined>> {
  const found: Record<string, string | undefined> = {};
  for (const name of VARIABLES) {
    try {
      found[name] = process.env[name];
    } catch {
      // The runtime has no environment variables, or does not allow reading them.
    }
  }
  return found;
}
