/**
 * Prints each failed test of a report to stderr, then "passed failed skipped" as three numbers to stdout. A second report is of the
 * failed files, run once more: a test that passed there is printed as unsteady and counts as passed.
 */
import { failedTestsOf, isWholeFile, readReport } from "./report.mjs";

const report = readReport(process.argv[2]);
const again = process.argv[3] === undefined ? [] : readReport(process.argv[3]).testResults;

function hasPassed(name, test) {
  const tests = again
    .filter((file) => file.name === name)
    .flatMap(({ assertionResults }) => assertionResults);
  const found = tests.filter(({ fullName }) => fullName === test.fullName);
  return found.length > 0 && found.every(({ status }) => status === "passed");
}

let unsteady = 0;
let failed = 0;
for (const file of report.testResults) {
  if (isWholeFile(file)) {
    failed += 1;
    console.error(`failed: ${file.name}: ${file.message}`);
  }
  for (const test of failedTestsOf(file)) {
    const isUnsteady = hasPassed(file.name, test);
    if (isUnsteady) unsteady += 1;
    else failed += 1;
    console.error(
      `${isUnsteady ? "unsteady (passed the second time)" : "failed"}: ${file.name} > ${test.fullName}\n  ${(test.failureMessages[0] ?? "").slice(0, 800)}`,
    );
  }
}
console.log(
  (report.numPassedTests ?? 0) + unsteady,
  failed,
  (report.numPendingTests ?? 0) + (report.numTodoTests ?? 0),
);
