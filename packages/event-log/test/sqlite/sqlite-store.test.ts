import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { eventLogContract } from "../contracts/event-log.contract.js";
import { purgingContract } from "../contracts/purging.contract.js";
import { storeContract } from "../contracts/store.contract.js";
import type { OpenStore } from "../contracts/store-fixture.js";
import { temporaryDirectories } from "../temporary-directory.js";

const temporaryDirectory = temporaryDirectories();

storeContract("sqlite", (clock, options) =>
  openSqliteStore({ directory: temporaryDirectory(), clock, ...options }),
);

/** What the segments have a part in, with several of them. */
const inSmallSegments: OpenStore = (clock, options) =>
  openSqliteStore({
    directory: temporaryDirectory(),
    clock,
    ...options,
    tuning: { segmentMessages: 4, checkpointBytes: 32 * 1024, syncLog: false },
  });
eventLogContract("sqlite, in small segments", inSmallSegments);
purgingContract("sqlite, in small segments", inSmallSegments);
