import { makeLog } from "./log.js";
import { describeError, makeWriteMessage, makeWriteResult, readError } from "./result.js";
import { makeCall, makeRunner } from "./runner.js";
import { allowOwnFields, freezeEverything, keepGlobals, replaceChanceAndEval, replaceTime } from "./seal.js";

declare global {
  interface String {
    /** TypeScript's library does not declare it yet. */
    isWellFormed(): boolean;
  }
}

/** What a transformation finds besides the language's own objects: `console`. */
const GLOBALS = [
  ...["globalThis", "undefined", "Infinity", "NaN", "console"],
  ...[
    "Object",
    "Function",
    "Array",
    "String",
    "Number",
    "Boolean",
    "Symbol",
    "BigInt",
    "Math",
    "JSON",
    "Reflect",
  ],
  ...["Proxy", "Promise", "Date", "RegExp", "Iterator", "Map", "Set", "WeakMap", "WeakSet"],
  ...["Error", "EvalError", "RangeError", "ReferenceError", "SyntaxError", "TypeError", "URIError"],
  ...[
    "InternalError",
    "AggregateError",
    "ArrayBuffer",
    "DataView",
    "Uint8Array",
    "Uint8ClampedArray",
    "Int8Array",
  ],
  ...["Uint16Array", "Int16Array", "Uint32Array", "Int32Array", "BigInt64Array", "BigUint64Array"],
  ...["Float16Array", "Float32Array", "Float64Array", "isNaN", "isFinite", "parseInt", "parseFloat"],
  ...["encodeURI", "encodeURIComponent", "decodeURI", "decodeURIComponent", "escape", "unescape"],
];

const MAX_LOG_LINES = 20;
const MAX_LOG_CHARS = 1_024;
const FLUSH_CHARS = 262_144;

/** Limits of one message's result. Bytes are counted outside; these keep the VM from writing what is refused anyway. */
const RESULT_LIMITS = { messages: 100, chars: 512_000 };

/**
 * Makes `sha256`, which the host computes. A text travels as JSON if the border would change it: that ends a text at U+0000, and knows no
 * halves of surrogate pairs.
 */
function makeSha256(hash: (text: string, isJson?: true) => string): object {
  return Object.freeze((text: unknown, key?: unknown): string => {
    if (typeof text !== "string" || (key !== undefined && typeof key !== "string"))
      throw new TypeError("sha256 takes a text, and perhaps a key");
    if (key === undefined && !text.includes("\0") && text.isWellFormed()) return hash(text);
    return hash(JSON.stringify(key === undefined ? [text] : [text, key]), true);
  });
}

/** The text of the program that prepares a VM: a function of the host's hash that answers a `VmRunner`. */
export const PROGRAM = `(hash) => {
"use strict";
const setTime = (${replaceTime})();
(${replaceChanceAndEval})();
const sha256 = (${makeSha256})(hash);
const log = (${makeLog})(${MAX_LOG_LINES}, ${MAX_LOG_CHARS});
(${keepGlobals})(${JSON.stringify(GLOBALS)});
(${allowOwnFields})();
(${freezeEverything})();
const readError = (${readError});
const describeError = (${describeError});
const describe = (error) => describeError(error, readError, log.redact);
const write = (${makeWriteResult})((${makeWriteMessage})(describe), ${JSON.stringify(RESULT_LIMITS)});
const given = { log: log.log, sha256 };
return (${makeRunner})({ call: (${makeCall}), setTime, log, given, describe, write, flushChars: ${FLUSH_CHARS} });
}`;
