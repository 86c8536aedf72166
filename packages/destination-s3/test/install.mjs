// `npm run versitygw:install`: builds versitygw, a server that speaks S3 and checks signatures, into a cache folder.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { CACHED_SERVER, VERSITYGW_VERSION } from "./s3-server.ts";

if (!existsSync(CACHED_SERVER))
  execFileSync("go", ["install", `github.com/versity/versitygw/cmd/versitygw@v${VERSITYGW_VERSION}`], {
    env: { ...process.env, GOBIN: dirname(CACHED_SERVER) },
    stdio: ["ignore", "ignore", "inherit"],
  });
console.log(`versitygw ${VERSITYGW_VERSION} is at ${CACHED_SERVER}`);
