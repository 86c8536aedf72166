/** What tests of other packages share with the tests of this one. */
export { type BatchOptions, batchOf, idsBatch, RECEIVED_AT_MS, type TestMessage } from "./batches.js";
export { profileStoreContract } from "./contracts/profile-store.contract.js";
export { type Damage, damage } from "./sqlite/damaged-folder.js";
export { zeroPages } from "./sqlite/zero-pages.js";
export { temporaryDirectories } from "./temporary-directory.js";
