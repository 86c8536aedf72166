import { relative } from "node:path";

const UNNOTICED = new Set(["Survived", "NoCoverage"]);
const NOTICED = new Set(["Killed", "Timeout"]);

/**
 * A mutant as the lines before and after, so that an explanation outlives changes around it. Stryker counts lines and columns from 1.
 */
export function changeOf({ fileName, location: { start, end }, replacement }, text, root) {
  const lines = text.split("\n").slice(start.line - 1, end.line);
  const before = lines[0].slice(0, start.column - 1);
  const after = lines.at(-1).slice(end.column - 1);
  return {
    file: relative(root, fileName),
    line: start.line,
    was: oneLine(lines.join("\n")),
    becomes: oneLine(before + replacement + after),
  };
}

function oneLine(text) {
  return text.replace(/\s+/g, " ").trim();
}

/** Mutants that no test noticed and nobody explained, and explanations that explain nothing. */
export function judge(mutants, explained, files) {
  const unnoticed = mutants.filter(({ status }) => UNNOTICED.has(status));
  return {
    survivors: unnoticed.filter((mutant) => !explained.some((known) => isSame(known, mutant))),
    stale: explained.filter(
      (known) => files.includes(known.file) && !unnoticed.some((mutant) => isSame(known, mutant)),
    ),
  };
}

/** An explanation without `becomes` is for every change of its text. */
function isSame(known, { file, was, becomes }) {
  return known.file === file && known.was === was && (known.becomes ?? becomes) === becomes;
}

/** The counts of a module. Mutants that cannot run at all are left out. */
export function scoreOf({ name, files }, mutants, explained) {
  const own = mutants.filter(({ file }) => files.includes(file));
  const killed = own.filter(({ status }) => NOTICED.has(status)).length;
  const unnoticed = own.filter(({ status }) => UNNOTICED.has(status));
  const known = unnoticed.filter((mutant) => explained.some((one) => isSame(one, mutant))).length;
  return {
    name,
    mutants: killed + unnoticed.length,
    killed,
    explained: known,
    survived: unnoticed.length - known,
  };
}
