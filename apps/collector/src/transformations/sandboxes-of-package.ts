import type { Sandboxes } from "@sluice/transformations";

/** Loads the sandboxes. Only what needs them calls it, so that the start does not pay for it. */
export async function sandboxesOfPackage(): Promise<Sandboxes> {
  const { openSandboxes } = await import("@sluice/transformations");
  return openSandboxes();
}
