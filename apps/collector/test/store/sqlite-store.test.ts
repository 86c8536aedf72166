import { openSqliteStore } from "../../src/store/sqlite/open-sqlite-store.js";
import { storeContract } from "../contracts/store.contract.js";
import { temporaryDirectories } from "./temporary-directory.js";

const temporaryDirectory = temporaryDirectories();

storeContract("sqlite", (clock, options) =>
  openSqliteStore({ directory: temporaryDirectory(), clock, ...options }),
);

storeContract("sqlite, in small segments", (clock, options) =>
  openSqliteStore({
    directory: temporaryDirectory(),
    clock,
    ...options,
    tuning: { segmentMessages: 4, checkpointBytes: 32 * 1024 },
  }),
);
