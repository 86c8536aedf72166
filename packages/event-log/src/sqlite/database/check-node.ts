/** The first Node.js whose SQLite can be used without a flag; `engines` in package.json says the same. */
const NEEDED = { major: 22, minor: 13 } as const;

/** Throws, in words, on a Node.js that is too old: what it says by itself names a module that nobody has asked for. */
export function checkNode(version: string = process.versions.node): void {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const { major: neededMajor, minor: neededMinor } = NEEDED;
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return;
  throw new Error(
    `The collector needs Node.js ${neededMajor}.${neededMinor} or newer, and this is ${version} (${process.execPath})`,
  );
}
