import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Collector, createLogger, startCollector } from "@sluice/collector";
import { Analytics } from "@sluice/node";
import type { Region } from "@sluice/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

/** Clients of the SDK with a collector in each region. */
let directory: string;
let dublin: Collector;
let oregon: Collector;

const start = (region: Region, port = 0): Promise<Collector> =>
  startCollector({
    mode: "dev",
    region,
    host: "127.0.0.1",
    port,
    dataDirectory: join(directory, region),
    logger: createLogger({ write() {} }),
  });
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "sluice-regions-"));
  [dublin, oregon] = await Promise.all([start("dublin"), start("oregon")]);
});
afterEach(async () => {
  await Promise.all([dublin.close(0), oregon.close(0)]);
  await rm(directory, { recursive: true });
});

const keyOf = (collector: Collector): string => {
  const { firstRun } = collector;
  if (firstRun === undefined) throw new Error("a collector in dev mode has a write key");
  return firstRun.writeKey;
};

const events = async (collector: Collector): Promise<unknown[]> => {
  const { items } = await collector.store.log.find({}, { limit: 10 });
  return items.map(({ message }) => message.event).toReversed();
};

const failures: string[] = [];
function clientOf(region: Region, writeKey: string): Analytics {
  failures.length = 0;
  return new Analytics({
    writeKey,
    host: region,
    regions: { dublin: dublin.url, oregon: oregon.url },
    maxRetries: 2,
    onError: (_status, message) => {
      failures.push(message);
    },
  });
}

describe("a client of one region", () => {
  it("sends to that region's collector only, also while it is down and after its restart", async () => {
    const writeKey = keyOf(dublin);
    const { port } = dublin;
    await using analytics = clientOf("dublin", writeKey);
    analytics.track({ userId: "ann", event: "Before" });
    expect(await analytics.flush()).toEqual({ delivered: 1, failed: 0, refused: 0 });

    await dublin.close(0);
    analytics.track({ userId: "ann", event: "Meanwhile" });
    expect(await analytics.flush()).toEqual({ delivered: 0, failed: 1, refused: 0 });

    dublin = await start("dublin", port);
    analytics.track({ userId: "ann", event: "After" });
    expect(await analytics.flush()).toEqual({ delivered: 1, failed: 0, refused: 0 });
    expect(await events(dublin)).toEqual(["Before", "After"]);
    expect(await events(oregon)).toEqual([]);
  });

  it("gets the right region of its key, and nothing is stored in either region", async () => {
    await using analytics = clientOf("oregon", keyOf(dublin));
    analytics.track({ userId: "ann", event: "Astray" });
    expect(await analytics.flush()).toEqual({ delivered: 0, failed: 1, refused: 0 });
    expect(failures).toEqual([expect.stringMatching(/wrong_region.*dublin/)]);
    expect(await events(oregon)).toEqual([]);
    expect(await events(dublin)).toEqual([]);
  });
});
