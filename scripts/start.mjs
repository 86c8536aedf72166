// `npm start`: brings the build up to date and becomes `sluice dev` in this process, so that signals end it.
// Arguments after `--` are passed on: `npm start -- --port 9000`.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";

if (!existsSync("packages/cli/dist/main.js"))
  process.stderr.write(
    "Building Sluice. This takes a minute or two, longer on a slow machine, the first time only …\n",
  );
const build = spawnSync("turbo", ["run", "build", "--output-logs=errors-only", "--log-prefix=none"], {
  encoding: "utf8",
  shell: process.platform === "win32",
  env: { ...process.env, TURBO_TELEMETRY_DISABLED: "1" },
});
if (build.status !== 0) {
  process.stderr.write(`${build.stdout ?? ""}${build.stderr ?? ""}${build.error ?? ""}\n`);
  process.exit(1);
}
// If only npm gets a signal, as from some supervisors, it ends without passing the signal on. This process ends with it.
const npm = process.ppid;
setInterval(() => {
  if (process.ppid !== npm) process.kill(process.pid, "SIGTERM");
}, 500).unref();

process.argv.splice(2, 0, "dev");
createRequire(import.meta.url)("../packages/cli/bin/sluice.cjs");
