/** A process that locks a file until it is killed. Reports its process id, as it sees it, or that the file is locked. */
import { hostname } from "node:os";
import { lockFile } from "../../src/sqlite/database/file-lock.js";

const unlock = lockFile(process.argv[2] ?? "");
console.log(unlock === undefined ? "refused" : `locked by ${process.pid} on ${hostname()}`);
// The lock ends when its last reference is collected.
if (unlock !== undefined) setInterval(() => unlock, 60_000);
