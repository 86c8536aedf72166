import { afterAll, beforeEach, type TestContext } from "vitest";
import { LEFT_OUT, type LeftOut } from "./left-out.js";
import { hasSeveralPartitions } from "./test-store.js";

/** Runs before each test file on a cluster. */
if (hasSeveralPartitions) {
  const runsAll = process.env.SLUICE_TEST_LEFT_OUT === "1";
  const met = new Set<LeftOut>();
  let file = "";
  beforeEach((context) => {
    file = context.task.file.filepath;
    const entry = ofFile(file).find(({ test = "" }) => context.task.name.startsWith(test));
    if (entry === undefined) return;
    met.add(entry);
    if (!runsAll) context.skip(entry.reason);
    else if (entry.test !== undefined) expectFailure(context);
  });
  afterAll(async () => {
    const { closeIngestClusters } = await import("./ingest-on-cluster.js");
    await closeIngestClusters();
    const unmet = ofFile(file).filter((entry) => !met.has(entry));
    if (unmet.length > 0 && file !== "")
      throw new Error(`left-out.ts names tests that ${file} does not have: ${JSON.stringify(unmet)}`);
  });
}

function ofFile(path: string): readonly LeftOut[] {
  return LEFT_OUT.filter(({ file }) => path.endsWith(`/test/${file}`));
}

function expectFailure({ task }: TestContext): void {
  Object.assign(task, { fails: true });
}
