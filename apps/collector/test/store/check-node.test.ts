import { repairStore } from "@sluice/event-log";
import { temporaryDirectories } from "@sluice/event-log/testing";
import { afterEach, describe, expect, test } from "vitest";
import { startCollector } from "../../src/collector.js";
import { createLogger } from "../../src/process/telemetry/logger.js";

const temporaryDirectory = temporaryDirectories();

describe("on a Node.js that is too old", () => {
  const { node } = process.versions;
  afterEach(() => {
    Object.defineProperty(process.versions, "node", { value: node, configurable: true });
  });

  test("refuses to start a collector and to repair a log, and says why", async () => {
    Object.defineProperty(process.versions, "node", { value: "20.20.2", configurable: true });
    const dataDirectory = temporaryDirectory();
    const logger = createLogger({ level: "error", write: () => {} });
    const starting = startCollector({ mode: "dev", host: "127.0.0.1", port: 0, dataDirectory, logger });
    await expect(starting).rejects.toThrow(/needs Node.js 22.13 or newer, and this is 20.20.2/);
    await expect(repairStore({ directory: dataDirectory })).rejects.toThrow(/needs Node.js 22.13/);
  });
});
