// `npm run nats:install`: puts the nats-server of Debian 13 into a cache folder, for the tests that need one. It asks the package mirror
// of this machine, apt checks the signatures, and nothing is installed on the machine.
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CACHED_SERVER, findNatsServer, versionOf } from "./nats-server.ts";

/** The first release of Debian whose server is 2.10 or newer. Its program runs on Debian 12 too. */
const SUITE = "trixie";
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";

function run(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", ...options });
  if (status !== 0) throw new Error(`${command} ${args.at(-1)}: ${error?.message ?? `${stdout}${stderr}`}`);
  return stdout;
}

/** The address of the mirror from which this machine gets Debian's packages. */
function mirror() {
  const targets = run("apt-get", [
    "indextargets",
    "--format",
    "$(RELEASE) $(REPO_URI)",
    "Created-By: Packages",
  ]);
  const addresses = targets.split("\n").map((line) => line.split(" "));
  const main = addresses.find(([release, uri]) => uri !== undefined && /^[a-z]+$/.test(release ?? ""));
  if (main === undefined) throw new Error("apt has no package mirror of a Debian release");
  return main[1];
}

function download(folder) {
  for (const name of ["lists/partial", "parts"]) mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, "sources.list"), `deb [signed-by=${KEYRING}] ${mirror()} ${SUITE} main\n`);
  const options = Object.entries({
    "Dir::Etc::SourceList": join(folder, "sources.list"),
    "Dir::Etc::SourceParts": join(folder, "parts"),
    "Dir::State::Lists": join(folder, "lists"),
    "Dir::State::status": "/dev/null",
    "Dir::Cache::pkgcache": "",
    "Dir::Cache::srcpkgcache": "",
    "Acquire::Languages": "none",
    "APT::Sandbox::User": "",
  }).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
  run("apt-get", [...options, "--quiet", "update"]);
  run("apt-get", [...options, "--quiet", "download", "nats-server"], { cwd: folder });
  const [archive] = globSync(join(folder, "nats-server_*.deb"));
  run("dpkg-deb", ["-x", archive, join(folder, "unpacked")]);
  return join(folder, "unpacked/usr/sbin/nats-server");
}

const found = findNatsServer();
if (found.kind === "found") {
  console.log(`nats-server ${found.version} is at ${found.path}`);
} else {
  const folder = mkdtempSync(join(tmpdir(), "sluice-nats-"));
  try {
    const program = download(folder);
    mkdirSync(dirname(CACHED_SERVER), { recursive: true });
    copyFileSync(program, CACHED_SERVER);
    chmodSync(CACHED_SERVER, 0o755);
    const installed = findNatsServer();
    if (installed.kind === "missing") throw new Error(`${installed.reason} (got ${versionOf(program)})`);
    console.log(`nats-server ${installed.version} is at ${installed.path}`);
  } catch (error) {
    console.error(`nats:install: ${error.message}`);
    process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
