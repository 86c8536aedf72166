#!/usr/bin/env node
// biome-ignore-all lint: template literals and optional chains do not work on the versions of Node.js that this has to run on.
/* This file runs on any version of Node.js, to report versions that are too old. It uses only ES5, except for the import below. */
"use strict";
var needed = [22, 13];
var found = process.versions.node.split(".").map(Number);

/*
 * A collector creates many short-lived objects. A larger semi-space saves an eighth of its CPU time and costs up to 48 MB of
 * memory. And glibc keeps what a thread has freed in a heap of each thread: two heaps for all of them keep 20 MB less after
 * transformations that used all their memory. Both are read only at the start of a process, so this process replaces itself and
 * keeps its id, terminal and environment. It does not if it has a channel to its parent, if a size is already set, or if Node.js
 * has no execve.
 */
function becomeServer() {
  var isServer = process.argv[2] === "dev" || process.argv[2] === "collector";
  var chosen = (process.env.NODE_OPTIONS || "") + process.execArgv.join(" ");
  if (!isServer || require.main !== module || process.connected || typeof process.execve !== "function")
    return;
  if (/semi.space.size/.test(chosen)) return;
  var args = [process.execPath].concat(process.execArgv, "--max-semi-space-size=32", process.argv.slice(1));
  try {
    process.execve(process.execPath, args, Object.assign({ MALLOC_ARENA_MAX: "2" }, process.env));
  } catch (_error) {
    // It throws on Windows and under Node.js's permission model. The process continues without the option.
  }
}

/*
 * Keeps compiled code between starts: a sixth of a start's CPU time. Beside the code, in a folder that only this user can open,
 * whatever the umask: what is in it is run. What others could write is thrown away. If this user cannot make the folder, or it is
 * another user's, nothing is kept.
 * NODE_COMPILE_CACHE names another folder, NODE_DISABLE_COMPILE_CACHE=1 switches it off.
 */
function keepCompiledCode() {
  var enable = require("node:module").enableCompileCache;
  if (
    typeof enable !== "function" ||
    process.env.NODE_COMPILE_CACHE ||
    process.env.NODE_DISABLE_COMPILE_CACHE
  )
    return;
  var fs = require("node:fs");
  var join = require("node:path").join;
  var parent = join(__dirname, "..", "node_modules", ".cache");
  var folder = join(parent, "compiled");
  try {
    fs.mkdirSync(parent, { recursive: true, mode: 493 }); // 0755
    fs.mkdirSync(folder, { recursive: true, mode: 448 }); // 0700
    var made = fs.lstatSync(folder);
    if (!made.isDirectory() || (process.getuid && made.uid !== process.getuid())) return;
    if (process.getuid && made.mode & 63) {
      fs.rmSync(folder, { recursive: true });
      fs.mkdirSync(folder, { mode: 448 });
    }
  } catch (_error) {
    return;
  }
  enable(folder);
}

if (found[0] < needed[0] || (found[0] === needed[0] && found[1] < needed[1])) {
  process.stderr.write(
    "sluice needs Node.js " +
      needed.join(".") +
      " or newer. This is " +
      process.versions.node +
      " (" +
      process.execPath +
      ").\n" +
      "In Sluice's repository, `npx sluice …` and `npm start` use the Node.js that `npm ci` installed.\n",
  );
  process.exitCode = 1;
} else {
  becomeServer();
  keepCompiledCode();
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
