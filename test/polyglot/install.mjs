// `npm run polyglot:install`: builds the programs of this folder. The languages are built side by side. One whose compiler is missing is
// left out with the command that installs it; on CI that is a failure.
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { guideFiles } from "./verifiers/guide.mjs";

const run = promisify(execFile);
// Where the installers of Go and Rust put them. Not every shell has these folders in its path.
process.env.PATH += `${delimiter}/usr/local/go/bin${delimiter}${join(homedir(), ".cargo/bin")}`;
const inFolder =
  (folder, env = {}) =>
  (program, ...args) =>
    run(program, args, {
      cwd: join(import.meta.dirname, folder),
      env: { ...process.env, ...env },
      maxBuffer: 1e8,
    });

async function python() {
  const $ = inFolder("python");
  await $("python3", "-m", "venv", ".venv");
  await $(".venv/bin/pip", "install", "--quiet", "--no-deps", "--requirement", "requirements.txt");
}

async function go() {
  const $ = inFolder("go", { CGO_ENABLED: "0", GOFLAGS: "-mod=readonly" });
  await $("go", "build", "-ldflags=-s -w", "-o", "bin/", "./...");
}

/** OpenTelemetry's collector is a program that one puts together from its modules. They need a newer Go than the clients. */
async function otel() {
  const $ = inFolder("otel", { CGO_ENABLED: "0", GOFLAGS: "-mod=readonly" });
  await $("go", "build", "-ldflags=-s -w", "-o", "bin/otelcol", ".");
}

async function java() {
  const $ = inFolder("java");
  await $("mvn", "--quiet", "--batch-mode", "dependency:copy-dependencies", "-DoutputDirectory=target/lib");
  await $(
    "sh",
    "-c",
    "javac -encoding UTF-8 -cp 'target/lib/*' -d target/classes *.java target/guide/*.java",
  );
}

/** Keeps what it compiled in the user's cache: another clone needs the same crates. */
async function rust() {
  const target = join(homedir(), ".cache", "sluice/polyglot-rust");
  await inFolder("rust", { CARGO_TARGET_DIR: target })("cargo", "build", "--quiet", "--locked");
  for (const name of ["rudderstack", "posthog", "verify"])
    cpSync(join(target, "debug", name), join(import.meta.dirname, "rust/bin", name));
}

const LANGUAGES = [
  { name: "Python", build: python, folder: "python/.venv", install: "apt-get install python3-venv" },
  { name: "Go", build: go, folder: "go/bin", install: "Go 1.25 or newer, from https://go.dev" },
  {
    name: "OpenTelemetry",
    build: otel,
    folder: "otel/bin",
    install: "Go 1.26 or newer, from https://go.dev",
  },
  { name: "Java", build: java, folder: "java/target", install: "apt-get install openjdk-17-jdk maven" },
  {
    name: "Rust",
    build: rust,
    folder: "rust/bin",
    install: "Rust 1.88 or newer, from https://rustup.rs",
  },
];

for (const { path, code } of guideFiles()) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, code);
}
const results = await Promise.all(
  LANGUAGES.map(async ({ name, build, folder, install }) => {
    const startedMs = performance.now();
    try {
      await build();
      mkdirSync(join(import.meta.dirname, folder), { recursive: true });
      writeFileSync(join(import.meta.dirname, folder, "installed"), "");
      return { line: `${name}: built in ${((performance.now() - startedMs) / 1_000).toFixed(0)} s` };
    } catch (error) {
      if (error.code === "ENOENT")
        return { isMissing: true, line: `${name}: ${error.path} is missing: ${install}` };
      return { hasFailed: true, line: `${name}: ${error.stderr || error.message}` };
    }
  }),
);
for (const { line } of results) console.log(line);
if (results.some(({ hasFailed, isMissing }) => hasFailed || (isMissing && process.env.CI !== undefined)))
  process.exitCode = 1;
