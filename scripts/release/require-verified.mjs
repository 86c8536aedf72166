// `prepublishOnly` of every published package, for whoever runs `npm publish` without `npm run release`: runs `npm run verify`,
// unless it has passed at this commit.
import { spawnSync } from "node:child_process";
import { ROOT } from "./published.mjs";
import { missingVerification } from "./verified.mjs";

if (missingVerification(ROOT) !== undefined)
  spawnSync("npm", ["run", "verify"], {
    cwd: ROOT,
    stdio: "inherit",
    // npm would take the package's folder for the place of the command.
    env: { ...process.env, npm_config_local_prefix: ROOT },
    shell: process.platform === "win32",
  });
const missing = missingVerification(ROOT);
if (missing !== undefined) {
  console.error(`publish: ${missing}`);
  process.exit(1);
}
