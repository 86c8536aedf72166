// `npm run build:binary` makes one executable of the command line, the collector and the dashboard. It runs on a machine
// without Node.js. `-- --out FILE` says where (default: dist/sluice), `-- --node FILE` which Node.js goes into it.
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../release/published.mjs";
import { LICENSES_FILE, licensesText, thirdPartyPackages } from "../third-party-licenses.ts";
import { bundle } from "./bundle.mjs";

/** The marker in Node.js's own executable that says that assets follow. */
const FUSE = "NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2";

/** A collector makes many short-lived objects: a larger semi-space saves an eighth of its CPU time. See `packages/cli/bin`. */
const NODE_OPTIONS = ["--max-semi-space-size=32", "--disable-warning=ExperimentalWarning"];

const { values } = parseArgs({
  options: {
    out: { type: "string", default: join(ROOT, "dist/sluice") },
    node: { type: "string", default: process.execPath },
  },
});
const out = resolve(values.out);
const node = resolve(values.node);
const work = `${out}.build`;

function fail(message) {
  console.error(`build:binary: ${message}`);
  process.exit(1);
}

function run(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: "utf8", ...options });
  if (status !== 0) fail(`${command} ${args.join(" ")} failed: ${error ?? stderr}${stdout}`);
  return stdout;
}

function checkInputs() {
  if (!fs.existsSync(join(ROOT, "apps/collector/dist/dashboard/index.html")))
    fail("The packages are not built. Run `npm run build`.");
  if (!fs.existsSync(join(ROOT, "test/release/node_modules/postject")))
    fail("The tools are missing. Run `npm run release:install`.");
  const [major] = run(node, ["-p", "process.versions.node"]).split(".").map(Number);
  if (major < 24) fail(`${node} is Node.js ${major}. The executable needs 24 or newer.`);
}

function filesBelow(folder) {
  return fs
    .readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll("\\", "/"),
    );
}

/** Writes everything that goes into the executable to the folder `work`. Answers the assets' names and files. */
async function prepareAssets() {
  fs.rmSync(work, { recursive: true, force: true });
  fs.mkdirSync(work, { recursive: true });
  const { scripts, modules } = await bundle(ROOT);
  for (const [name, text] of Object.entries(scripts)) fs.writeFileSync(join(work, name), text);
  fs.cpSync(join(ROOT, "apps/collector/dist/dashboard"), join(work, "dashboard"), { recursive: true });
  fs.writeFileSync(join(work, LICENSES_FILE), allLicenses(modules));
  run(node, [
    ...NODE_OPTIONS,
    join(import.meta.dirname, "code-cache.cjs"),
    join(work, "main.cjs"),
    join(work, "main.cache"),
  ]);
  return filesBelow(work);
}

/** What the bundles contain, what the dashboard contains, and Node.js itself with all that it contains. */
function allLicenses(modules) {
  const bundled = licensesText(thirdPartyPackages(modules));
  const dashboard = fs.readFileSync(join(ROOT, "apps/collector/dist/dashboard", LICENSES_FILE), "utf8");
  const nodeLicense = [join(dirname(node), "../LICENSE"), join(dirname(node), "LICENSE")].find(fs.existsSync);
  if (nodeLicense === undefined) fail(`There is no LICENSE of Node.js next to ${node}.`);
  return `${bundled}\nThe dashboard:\n\n${dashboard}\nNode.js:\n\n${fs.readFileSync(nodeLicense, "utf8")}`;
}

function makeExecutable(assets) {
  const config = join(work, "sea-config.json");
  const blob = join(work, "sea.blob");
  fs.writeFileSync(
    config,
    JSON.stringify({
      main: join(import.meta.dirname, "entry.cjs"),
      output: blob,
      disableExperimentalSEAWarning: true,
      execArgv: NODE_OPTIONS,
      // NODE_OPTIONS of the environment stays in force.
      execArgvExtension: "env",
      assets: Object.fromEntries(assets.map((name) => [name, join(work, name)])),
    }),
  );
  run(node, ["--experimental-sea-config", config]);
  const file = join(work, "sluice");
  fs.copyFileSync(node, file);
  fs.chmodSync(file, 0o755);
  const isMac = process.platform === "darwin";
  if (isMac) run("codesign", ["--remove-signature", file]);
  // Symbols are for debuggers. Without `strip`, the executable is a few megabytes larger.
  else if (spawnSync("strip", [file]).error === undefined) fs.chmodSync(file, 0o755);
  return { file, blob, isMac };
}

/** In a process of its own, because it prints warnings about Node.js's own sections. */
function inject({ file, blob, isMac }) {
  const postject = join(ROOT, "test/release/node_modules/postject/dist/cli.js");
  const segment = isMac ? ["--macho-segment-name", "NODE_SEA"] : [];
  run(process.execPath, [postject, file, "NODE_SEA_BLOB", blob, "--sentinel-fuse", FUSE, ...segment]);
  if (isMac) run("codesign", ["--sign", "-", file]);
}

checkInputs();
const assets = await prepareAssets();
const made = makeExecutable(assets);
inject(made);
fs.mkdirSync(dirname(out), { recursive: true });
fs.copyFileSync(made.file, out);
fs.copyFileSync(join(work, LICENSES_FILE), `${out}.${LICENSES_FILE}`);
fs.rmSync(work, { recursive: true });
console.log(`${out}: ${Math.round(fs.statSync(out).size / 1_048_576)} MB, ${run(out, ["--version"]).trim()}`);
