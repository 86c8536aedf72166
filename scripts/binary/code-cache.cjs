// Run by the Node.js of the executable: compiles a bundle as `entry.cjs` does, and writes what V8 keeps of it.
"use strict";
const { readFileSync, writeFileSync } = require("node:fs");
const { Script, constants } = require("node:vm");

const [, , bundle, cache] = process.argv;
const script = new Script(`(function (require, process) {${readFileSync(bundle, "utf8")}\n})`, {
  filename: "sea:/main.cjs",
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
// Running it compiles the functions that a start needs, so that they are kept too.
process.argv.splice(1, 3, process.execPath, "--help");
process.stdout.write = () => true;
script.runInThisContext()(require, process);
process.once("exit", () => writeFileSync(cache, script.createCachedData()));
