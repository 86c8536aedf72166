// `npm start`: brings the build up to date and becomes `sluice dev`, in this process, so that a signal to it ends it.
// What stands behind `--` is passed on: `npm start -- --port 9000`.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";

if (!existsSync("packages/cli/dist/main.js"))
  process.stderr.write("Building it first, once: up to a minute …\n");
const build = spawnSync("turbo", ["run", "build", "--output-logs=errors-only", "--log-prefix=none"], {
  encoding: "utf8",
  shell: process.platform === "win32",
  env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1" },
});
if (build.status !== 0) {
  process.stderr.write(`${build.stdout ?? ""}${build.stderr ?? ""}${build.error ?? ""}\n`);
  process.exit(1);
}
// npm leaves what it started behind when it is ended by a signal that it alone got (as supervisors send it).
const npm = process.ppid;
setInterval(() => {
  if (process.ppid !== npm) process.kill(process.pid, "SIGTERM");
}, 500).unref();

process.argv.splice(2, 0, "dev");
createRequire(import.meta.url)("../packages/cli/bin/sluice.cjs");
