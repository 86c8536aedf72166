/** Prints each failed test of a report to stderr, then "passed failed skipped" as three numbers to stdout. */
import { failedTestsOf, isWholeFile, readReport } from "./report.mjs";

const report = readReport(process.argv[2]);
let failed = 0;
for (const file of report.testResults) {
  if (isWholeFile(file)) {
    failed += 1;
    console.error(`failed: ${file.name}: ${file.message || "its process ended"}`);
  }
  for (const test of failedTestsOf(file)) {
    failed += 1;
    console.error(
      `failed: ${file.name} > ${test.fullName}\n  ${(test.failureMessages[0] ?? "").slice(0, 800)}`,
    );
  }
}
console.log(report.numPassedTests ?? 0, failed, (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0));
