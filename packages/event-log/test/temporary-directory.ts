import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** Makes folders that are gone when the file's tests are over. */
export function temporaryDirectories(): () => string {
  const made: string[] = [];
  afterAll(() => {
    for (const directory of made) rmSync(directory, { recursive: true, force: true });
  });
  return () => {
    const directory = mkdtempSync(join(tmpdir(), "sluice-store-"));
    made.push(directory);
    return directory;
  };
}
