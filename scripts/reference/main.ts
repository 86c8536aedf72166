/**
 * Writes the references that are generated from the code, for the website: `commands.md` from the command line, `endpoints.md` from the
 * OpenAPI document of a collector.
 *
 *   node --import ./scripts/source-loader.mjs scripts/reference/main.ts FOLDER
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { createLogger, startCollector } from "../../apps/collector/src/index.ts";
import { program } from "../../packages/cli/src/program.ts";
import { PLAIN } from "../../packages/cli/src/terminal/style.ts";
import { commandsPage } from "./commands-page.ts";
import { endpointsPage } from "./endpoints-page.ts";

const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error("name the folder to write to");

const commands = program({
  async out() {},
  async outBytes() {},
  err() {},
  stdin: Readable.from([]),
  env: {},
  cwd: "/",
  invocation: "sluice",
  style: PLAIN,
  errStyle: PLAIN,
  isErrTerminal: false,
  canAsk: false,
  columns: 100,
  now: () => 0,
  monotonic: () => 0,
  interrupted: new AbortController().signal,
});

const dataDirectory = mkdtempSync(join(tmpdir(), "sluice-reference-"));
const collector = await startCollector({
  mode: "dev",
  host: "127.0.0.1",
  port: 0,
  dataDirectory,
  logger: createLogger({ level: "error" }),
});
const document = await (await fetch(`${collector.url}/api/v1/openapi.json`)).json();
await collector.close(0);
rmSync(dataDirectory, { recursive: true });

mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "commands.md"), commandsPage(commands));
writeFileSync(join(folder, "endpoints.md"), endpointsPage(document));
