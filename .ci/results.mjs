/** Prints each failed test of a JSON report of Vitest to stderr, then "passed failed skipped" as three numbers to stdout. */
import { readFileSync } from "node:fs";

const text = readFileSync(process.argv[2], "utf8");
const report = text === "" ? {} : JSON.parse(text);
const files = report.testResults ?? [];
const isWholeFile = (file) => file.status === "failed" && file.assertionResults.length === 0;
for (const file of files) {
  if (isWholeFile(file)) console.error(`failed: ${file.name}: ${file.message}`);
  for (const test of file.assertionResults.filter(({ status }) => status === "failed"))
    console.error(
      `failed: ${file.name} > ${test.fullName}\n  ${(test.failureMessages[0] ?? "").slice(0, 800)}`,
    );
}
console.log(
  report.numPassedTests ?? 0,
  (report.numFailedTests ?? 0) + files.filter(isWholeFile).length,
  (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0),
);
