/** Reads JSON reports of Vitest. */
import { readFileSync } from "node:fs";

/** A report without tests, if Vitest wrote none. */
export function readReport(path) {
  const text = readFileSync(path, "utf8");
  return text === "" ? { testResults: [] } : JSON.parse(text);
}

export const failedTestsOf = (file) => file.assertionResults.filter(({ status }) => status === "failed");

/** A file that failed before its tests were known, such as by an import, or whose process ended. */
export const isWholeFile = (file) => file.status === "failed" && failedTestsOf(file).length === 0;
