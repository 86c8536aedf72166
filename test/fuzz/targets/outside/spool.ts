import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { builtInsNow } from "../../../../packages/node/src/spool/built-ins.js";
import { readMessages } from "../../../../packages/node/src/spool/read-messages.js";
import { SpoolDirectory } from "../../../../packages/node/src/spool/spool-directory.js";
import { isDraft, isWaiting, numberOf, takenBy } from "../../../../packages/node/src/spool/spool-files.js";
import { textTarget } from "../../engine/target.js";

export const spool = textTarget({
  name: "spool",
  rule: "a spool file of any contents gives each of its messages once and counts each damaged line, and never stops the next file",
  runs: 1_500,
  alphabet: "bytes",
  dictionary: [
    '{"messageId":"m-1","type":"page"}',
    "\n",
    '"messageId":',
    "000000000042.jsonl",
    ".taken",
    ".draft",
    "\xef\xbb\xbf",
    "\xff",
    "null",
  ],
  maxLength: 500,
  check(text) {
    const read = readMessages(Buffer.from(text, "latin1").toString("utf8"));
    const lines = Buffer.from(text, "latin1")
      .toString("utf8")
      .split("\n")
      .filter((line) => line !== "");
    expect(read.messages.length + read.damaged.length).toBe(lines.length);
    for (const { json, messageId, bytes } of read.messages) {
      expect(JSON.parse(json)).toMatchObject({ messageId });
      expect(bytes).toBe(Buffer.byteLength(json));
    }
    expect(Number.isSafeInteger(numberOf(text))).toBe(true);
    isDraft(text);
    if (isWaiting(text)) expect(takenBy(text)).toBeUndefined();
  },
});

let folder = "";

export const spoolFolder = textTarget({
  name: "spool-folder",
  rule: "the SDK opens a spool folder with any file in it, and gives back the good batch that lies behind it",
  runs: 60,
  alphabet: "bytes",
  dictionary: ['{"messageId":"m-1"}\n', "\n", "\0"],
  maxLength: 200,
  isLinear: false,
  async open() {
    folder = mkdtempSync(join(tmpdir(), "sluice-fuzz-spool-"));
    return async () => rmSync(folder, { recursive: true, force: true });
  },
  async check(text) {
    const builtIns = builtInsNow();
    if (builtIns === undefined) throw new Error("This Node.js cannot load its modules at once");
    const directory = mkdtempSync(join(folder, "one-"));
    const open = () =>
      new SpoolDirectory({ directory, maxBytes: 100_000, writeKey: "wk", batchUrl: "http://x" }, builtIns);
    const first = open();
    await first.open();
    const json = '{"messageId":"good"}';
    expect(await first.append([{ sequence: 0, messageId: "good", json, bytes: json.length }])).toBe("kept");
    const [own = ""] = readdirSync(directory);
    mkdirSync(join(directory, own, "000000000000.jsonl.d"), { recursive: true });
    writeFileSync(join(directory, own, "000000000000.jsonl"), Buffer.from(text, "latin1"));
    const second = open();
    await second.open();
    const found: string[] = [];
    for (let batch = await second.oldest(); batch !== undefined; batch = await second.oldest()) {
      found.push(...batch.batch.map(({ messageId }) => messageId));
      await batch.remove();
    }
    expect(found.filter((id) => id === "good").length).toBeGreaterThanOrEqual(1);
    expect(found.at(-1)).toBe("good");
    rmSync(directory, { recursive: true, force: true });
  },
});
