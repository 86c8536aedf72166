// `npm run moto:install`: puts moto, a server that speaks Amazon's protocols and checks their signatures, into a cache folder.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CACHED_SERVER, MOTO_VERSION } from "./s3-server.ts";

const folder = dirname(dirname(CACHED_SERVER));
const $ = (program, ...args) => execFileSync(program, args, { stdio: ["ignore", "ignore", "inherit"] });
const marker = join(folder, "installed");
if (!existsSync(marker)) {
  mkdirSync(dirname(folder), { recursive: true });
  // What another Python left there would not fit.
  $("python3", "-m", "venv", "--clear", folder);
  $(`${folder}/bin/pip`, "install", "--quiet", `moto[server,s3]==${MOTO_VERSION}`);
  writeFileSync(marker, "");
}
console.log(`moto ${MOTO_VERSION} is at ${CACHED_SERVER}`);
