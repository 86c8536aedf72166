// `npm run moto:install`: puts moto, a server that speaks Amazon's protocols and checks their signatures, into a cache folder.
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { CACHED_SERVER, MOTO_VERSION } from "./s3-server.ts";

const folder = dirname(dirname(CACHED_SERVER));
const $ = (program, ...args) => execFileSync(program, args, { stdio: ["ignore", "ignore", "inherit"] });
mkdirSync(dirname(folder), { recursive: true });
$("python3", "-m", "venv", folder);
$(`${folder}/bin/pip`, "install", "--quiet", `moto[server,s3]==${MOTO_VERSION}`);
console.log(`moto ${MOTO_VERSION} is at ${CACHED_SERVER}`);
