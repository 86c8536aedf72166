// The script that the executable runs. It compiles the bundle, with V8's code cache, in a way that lets it import files of the
// user (`sluice apply sluice.config.ts`), which the script of a single executable may not.
"use strict";
const { createRequire } = require("node:module");
const { getAsset, getRawAsset } = require("node:sea");
const { Script, constants } = require("node:vm");

const script = new Script(`(function (require, process) {${getAsset("main.cjs", "utf8")}\n})`, {
  filename: "sea:/main.cjs",
  cachedData: Buffer.from(getRawAsset("main.cache")),
  importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
});
script.runInThisContext()(createRequire(process.execPath), process);
