import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@sluice/resilience";
import { describe, expect, it } from "vitest";
import { openSqliteStore } from "../../src/sqlite/open-sqlite-store.js";
import { batchOf, idsBatch } from "../batches.js";
import { temporaryDirectories } from "../temporary-directory.js";
import { examine, Ledger, SOUND, startChild } from "./ledger.js";
import { hasStrace, SYNCS, tampering } from "./strace.js";

const temporaryDirectory = temporaryDirectories();

describe.skipIf(!hasStrace())("a disk that fails (needs strace)", () => {
  it.each([
    ["a sync, early", SYNCS, "error=EIO:when=40"],
    ["syncs, again and again", SYNCS, "error=EIO:when=45+20"],
    ["several syncs in a row, reopening included", SYNCS, "error=EIO:when=50..53"],
    ["a write to the log", "pwritev", "error=EIO:when=100"],
    ["writes to the log, again and again", "pwritev", "error=EIO:when=100+70"],
    ["a write to the log for want of space", "pwritev", "error=ENOSPC:when=80+100"],
    ["a write to the database", "pwrite64", "error=EIO:when=200"],
    ["writes to the database, again and again", "pwrite64", "error=EIO:when=200+150"],
    ["a write to the database for want of space", "pwrite64", "error=ENOSPC:when=200+150"],
  ])(
    "refuses what it could not store when it fails %s, then goes on",
    { timeout: 120_000 },
    async (_case, calls, how) => {
      const directory = temporaryDirectory();
      const ledger = new Ledger();
      const child = startChild({ directory, run: "f" }, ledger, tampering(calls, how));
      await child.said((line) => line.startsWith("r "));
      const acknowledged = ledger.acknowledged.size;
      await child.said(() => ledger.acknowledged.size > acknowledged + 200);
      child.kill("SIGKILL");
      await child.ended;
      const findings = await examine(directory, ledger);
      expect(findings).toMatchObject(SOUND);
      expect(ledger.refused.size).toBeGreaterThan(0);
    },
  );

  it("shares a slow sync among all appends that arrive meanwhile", async () => {
    const directory = temporaryDirectory();
    const ledger = new Ledger();
    const trace = join(temporaryDirectory(), "syncs");
    const slow = tampering(SYNCS, "delay_enter=20000").map((word) => (word === "/dev/null" ? trace : word));
    const child = startChild({ directory, run: "s", inFlight: 50, appends: 1000 }, ledger, slow);
    await child.said((line) => line === "closed");
    await child.ended;
    const syncs = readFileSync(trace, "utf8").split("\n").length;
    // 1,000 appends, 50 at a time: alone, each would have needed a sync of its own.
    expect(syncs).toBeLessThan(200);
    expect(await examine(directory, ledger)).toMatchObject(SOUND);
  });
});

function mayMount(): boolean {
  return process.platform === "linux" && process.getuid?.() === 0;
}

describe.skipIf(!mayMount())("a full disk (needs root, to mount a small one)", () => {
  it("is reported, and everything is refused at once until the disk works again", async () => {
    const mountPoint = temporaryDirectory();
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=6m", "none", mountPoint]);
    const store = await openSqliteStore({ directory: join(mountPoint, "data"), clock: systemClock });
    try {
      const ballast = join(mountPoint, "ballast");
      writeFileSync(ballast, new Uint8Array(4 << 20));
      let refusal: unknown;
      for (let i = 0; refusal === undefined && i < 1_000; i++) {
        const filler = "x".repeat(20_000);
        await store.log.append(batchOf([{ messageId: `m${i}`, filler }])).catch((error: unknown) => {
          refusal = error;
        });
      }
      expect(refusal).toMatchObject({
        code: "storage_unavailable",
        message: expect.stringContaining("full"),
      });
      expect(store.health()).toMatchObject({ kind: "unavailable", reason: expect.stringContaining("full") });
      await expect(store.log.append(idsBatch(["late"]))).rejects.toMatchObject({
        code: "storage_unavailable",
      });
      const head = store.log.head();
      rmSync(ballast);
      while (store.health().kind === "unavailable") await systemClock.sleep(10);
      expect(store.log.head()).toBe(head);
      expect(await store.log.append(idsBatch(["late"]))).toMatchObject({ duplicates: [] });
    } finally {
      await store.close();
      execFileSync("umount", ["-l", mountPoint]);
    }
  });

  it("refuses appends while there is no room, and continues when there is", {
    timeout: 120_000,
  }, async () => {
    const mountPoint = temporaryDirectory();
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=6m", "none", mountPoint]);
    try {
      const ballast = join(mountPoint, "ballast");
      writeFileSync(ballast, new Uint8Array(4 << 20));
      const directory = join(mountPoint, "data");
      const ledger = new Ledger();
      const child = startChild({ directory, run: "full" }, ledger);
      await child.said((line) => line.startsWith("r "));
      rmSync(ballast);
      const acknowledged = ledger.acknowledged.size;
      await child.said(() => ledger.acknowledged.size > acknowledged + 50);
      child.kill("SIGKILL");
      await child.ended;
      expect(await examine(directory, ledger)).toMatchObject(SOUND);
    } finally {
      execFileSync("umount", ["-l", mountPoint]);
    }
  });
});
