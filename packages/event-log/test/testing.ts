/** Fixtures and internals for the tests of other packages. */
export { parseKeepingDigits } from "../src/bytes/parse-json.js";
export { memoryConfigStore } from "../src/memory/open-memory-store.js";
export { purgedIdentities } from "../src/rules/purging.js";
export { DATABASE_FILE } from "../src/sqlite/database/database-files.js";
export { type BatchOptions, batchOf, idsBatch, RECEIVED_AT_MS, type TestMessage } from "./batches.js";
export { profileStoreContract } from "./contracts/profile-store.contract.js";
export { hasStrace } from "./crash/strace.js";
export { type MemoryEngines, openMemoryEngines } from "./memory-engine/open-memory-engines.js";
export { type Damage, damage } from "./sqlite/damaged-folder.js";
export { zeroPages } from "./sqlite/zero-pages.js";
export { temporaryDirectories } from "./temporary-directory.js";
