/** The Node.js modules that the spool needs. */
export interface BuiltIns {
  readonly crypto: typeof import("node:crypto");
  readonly fs: typeof import("node:fs");
  readonly net: typeof import("node:net");
  readonly os: typeof import("node:os");
  readonly path: typeof import("node:path");
}

/**
 * Loads the modules synchronously if the runtime can (Node.js 20.16 and newer), so that a spool can be written to in the turn of the event
 * loop in which its client was created. A static import would fail on runtimes without these modules.
 */
export function builtInsNow(): BuiltIns | undefined {
  if (typeof process === "undefined" || typeof process.getBuiltinModule !== "function") return undefined;
  const crypto = process.getBuiltinModule("node:crypto");
  const fs = process.getBuiltinModule("node:fs");
  const net = process.getBuiltinModule("node:net");
  const os = process.getBuiltinModule("node:os");
  const path = process.getBuiltinModule("node:path");
  return crypto && fs && net && os && path && { crypto, fs, net, os, path };
}

/** Loads the modules. Rejects on runtimes that do not have them. */
export async function builtIns(): Promise<BuiltIns> {
  const [crypto, fs, net, os, path] = await Promise.all([
    import("node:crypto"),
    import("node:fs"),
    import("node:net"),
    import("node:os"),
    import("node:path"),
  ]);
  return { crypto, fs, net, os, path };
}
