import { statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { announceRetention, resolveRetention } from "../../src/process/config.js";
import { createLogger } from "../../src/process/telemetry/logger.js";

const GB = 1_024 ** 3;

test("`auto` is half of the volume, and 50 GB at most", async () => {
  const { blocks, bsize } = await statfs(tmpdir());
  const { maxBytes, maxAgeMs } = await resolveRetention(
    { retentionMs: 1_000, retentionBytes: "auto" },
    tmpdir(),
  );
  expect(maxAgeMs).toBe(1_000);
  expect(maxBytes).toBe(Math.min(50 * GB, Math.floor((blocks * bsize) / 2)));
});

test("`none` keeps everything and logs nothing", async () => {
  const retention = await resolveRetention({ retentionMs: "none", retentionBytes: "none" }, tmpdir());
  expect(retention).toEqual({});
  const lines: string[] = [];
  const logger = createLogger({ write: (line) => lines.push(line) });
  announceRetention(logger, retention);
  expect(lines).toEqual([]);
  announceRetention(logger, { maxAgeMs: 5 });
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('"msg":"older messages are removed","component":"collector","retentionMs":5');
});
