// `npm run chdb:install`: puts chdb, ClickHouse's engine as a Python module, into a cache folder.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CACHED_PYTHON, CHDB_VERSION } from "./clickhouse-server.ts";

const folder = dirname(dirname(CACHED_PYTHON));
const $ = (program, ...args) => execFileSync(program, args, { stdio: ["ignore", "ignore", "inherit"] });
const marker = join(folder, "installed");
if (!existsSync(marker)) {
  mkdirSync(dirname(folder), { recursive: true });
  // What another Python left there would not fit.
  $("python3", "-m", "venv", "--clear", folder);
  $(CACHED_PYTHON, "-m", "pip", "install", "--quiet", `chdb==${CHDB_VERSION}`);
  writeFileSync(marker, "");
}
console.log(`chdb ${CHDB_VERSION} is at ${folder}`);
