// `npm run chdb:install`: puts chdb, ClickHouse's engine as a Python module, into a cache folder.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { CACHED_PYTHON, CHDB_VERSION } from "./clickhouse-server.ts";

const folder = dirname(dirname(CACHED_PYTHON));
const $ = (program, ...args) => execFileSync(program, args, { stdio: ["ignore", "ignore", "inherit"] });
mkdirSync(dirname(folder), { recursive: true });
$("python3", "-m", "venv", folder);
$(CACHED_PYTHON, "-m", "pip", "install", "--quiet", `chdb==${CHDB_VERSION}`);
console.log(`chdb ${CHDB_VERSION} is at ${folder}`);
