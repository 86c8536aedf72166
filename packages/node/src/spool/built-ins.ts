/** The modules of Node.js that the spool needs. */
export interface BuiltIns {
  readonly crypto: typeof import("node:crypto");
  readonly fs: typeof import("node:fs");
  readonly path: typeof import("node:path");
}

/**
 * At once, where the runtime can (Node.js 20.16 and newer): so a client's spool can be written to in the very turn of the
 * event loop that made it. A static import would fail on the runtimes that have no such modules.
 */
export function builtInsNow(): BuiltIns | undefined {
  if (typeof process === "undefined" || typeof process.getBuiltinModule !== "function") return undefined;
  const crypto = process.getBuiltinModule("node:crypto");
  const fs = process.getBuiltinModule("node:fs");
  const path = process.getBuiltinModule("node:path");
  return crypto && fs && path && { crypto, fs, path };
}

/** Wherever there are such modules. */
export async function builtIns(): Promise<BuiltIns> {
  const [crypto, fs, path] = await Promise.all([
    import("node:crypto"),
    import("node:fs"),
    import("node:path"),
  ]);
  return { crypto, fs, path };
}
