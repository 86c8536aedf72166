import type { CallContext, ContextStorage } from "@sluice/core";

type AsyncStorage = new () => Pick<
  import("node:async_hooks").AsyncLocalStorage<CallContext>,
  "getStore" | "run"
>;

/** Returns a function that makes the storage of `withContext`, with the `AsyncLocalStorage` of the runtime. */
export function contextStorageSource(): (warn: (line: string) => void) => ContextStorage {
  let imported: AsyncStorage | undefined;
  if (mustImport()) {
    // Has ended long before the first request arrives.
    import(/* webpackIgnore: true */ MODULE).then(
      ({ AsyncLocalStorage }) => {
        imported = AsyncLocalStorage;
      },
      () => {},
    );
  }
  return (warn) => {
    const AsyncLocalStorage = imported ?? asyncLocalStorage();
    if (!AsyncLocalStorage) {
      warn("[sluice] This runtime has no AsyncLocalStorage: withContext() ends at the first await.");
      return synchronousStorage();
    }
    const storage = new AsyncLocalStorage();
    return { get: () => storage.getStore(), run: (context, work) => storage.run(context, work) };
  };
}

/** Not a literal in `import()`, so that bundlers for other runtimes do not look for it. */
const MODULE: string = "node:async_hooks";

/** Node.js 20.0 to 20.15 have no `getBuiltinModule`. */
function mustImport(): boolean {
  if (typeof process === "undefined" || process.versions?.node === undefined) return false;
  return typeof process.getBuiltinModule !== "function";
}

/** Vercel's edge runtime has it as a global. Node.js, Bun, Deno, and workerd with `nodejs_compat` have `getBuiltinModule`. */
function asyncLocalStorage(): AsyncStorage | undefined {
  const { AsyncLocalStorage } = globalThis as { AsyncLocalStorage?: AsyncStorage };
  if (typeof AsyncLocalStorage === "function") return AsyncLocalStorage;
  if (typeof process === "undefined" || typeof process.getBuiltinModule !== "function") return undefined;
  return process.getBuiltinModule("node:async_hooks")?.AsyncLocalStorage;
}

/** Keeps the context until the first `await`. */
function synchronousStorage(): ContextStorage {
  let current: CallContext | undefined;
  return {
    get: () => current,
    run: (context, work) => {
      const outer = current;
      current = context;
      try {
        return work();
      } finally {
        current = outer;
      }
    },
  };
}
