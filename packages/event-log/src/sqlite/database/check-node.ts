/** The first Node.js version whose SQLite needs no flag. Keep `engines` in package.json the same. */
const NEEDED = { major: 22, minor: 13 } as const;

/** Throws a clear error on a Node.js that is too old. Node's own error only names a missing module. */
export function checkNode(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const { major: neededMajor, minor: neededMinor } = NEEDED;
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return;
  throw new Error(
    `The collector needs Node.js ${neededMajor}.${neededMinor} or newer, and this is ${version} (${process.execPath})`,
  );
}
