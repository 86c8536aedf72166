#!/usr/bin/env node
// biome-ignore-all lint: template literals and optional chains are newer than what this has to run on.
/* Runs on any Node.js, however old, to tell what is wrong with it: nothing newer than ES5 but the import below. */
"use strict";
var needed = [22, 13];
var found = process.versions.node.split(".").map(Number);
if (found[0] < needed[0] || (found[0] === needed[0] && found[1] < needed[1])) {
  process.stderr.write(
    "sluice needs Node.js " +
      needed.join(".") +
      " or newer, and this is " +
      process.versions.node +
      " (" +
      process.execPath +
      ").\n" +
      "In Sluice's repository, `npx sluice …` and `npm start` use the Node.js that `npm ci` installed.\n",
  );
  process.exitCode = 1;
} else {
  import("../dist/main.js").then(
    (main) => main.main(),
    (error) => {
      var isUnbuilt =
        error && error.code === "ERR_MODULE_NOT_FOUND" && /dist.main\.js/.test(String(error.message));
      process.stderr.write(
        isUnbuilt
          ? "sluice is not built yet: run `npm run build` in Sluice's repository.\n"
          : String(error) + "\n",
      );
      process.exitCode = 1;
    },
  );
}
