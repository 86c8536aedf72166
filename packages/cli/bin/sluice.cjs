#!/usr/bin/env node
// biome-ignore-all lint: template literals and optional chains are newer than what this has to run on.
/* Runs on any Node.js, however old, to tell what is wrong with it: nothing newer than ES5 but the import below. */
"use strict";
var needed = [22, 13];
var found = process.versions.node.split(".").map(Number);

/*
 * A collector makes many short-lived objects: with more room for them it spends an eighth less CPU, and takes up to 48 MB more
 * memory. V8 is told only at a process's start, so that this process becomes that one: the same process id, terminal and
 * environment. Left alone where there is a parent's channel, where the operator has chosen a size, and where Node.js cannot.
 */
function becomeServer() {
  var isServer = process.argv[2] === "dev" || process.argv[2] === "collector";
  var chosen = (process.env.NODE_OPTIONS || "") + process.execArgv.join(" ");
  if (!isServer || require.main !== module || process.connected || typeof process.execve !== "function")
    return;
  if (/semi.space.size/.test(chosen)) return;
  var args = [process.execPath].concat(process.execArgv, "--max-semi-space-size=32", process.argv.slice(1));
  try {
    process.execve(process.execPath, args, process.env);
  } catch (_error) {
    // There on Windows too, where it only throws; and not allowed under Node.js's permission model. It goes on as it is.
  }
}

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
  becomeServer();
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
