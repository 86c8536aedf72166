/** Prints the files that failed, one a line, or nothing if they are more than a few. */
import { failedTestsOf, isWholeFile, readReport } from "./report.mjs";

/** More than these are no accident. */
const A_FEW = 3;

const failed = readReport(process.argv[2]).testResults.filter(
  (file) => isWholeFile(file) || failedTestsOf(file).length > 0,
);
if (failed.length <= A_FEW) for (const { name } of failed) console.log(name);
