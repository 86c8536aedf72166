import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { violations } from "./accessibility.js";
import { describeInBrowser, openBrowser, openPage } from "./browser.js";
import { buildDashboard } from "./running-dashboard.js";

/** The used part of the collector's test cluster. */
interface ClusterModule {
  readonly ADMIN_TOKEN: string;
  api(url: string, method: string, path: string): Promise<unknown>;
  clusterWorld(): Promise<
    AsyncDisposable & {
      start(node: string, options: object, clusterOptions?: object): Promise<{ readonly url: string }>;
      owner(among: readonly string[]): Promise<unknown>;
    }
  >;
}

/** The collector depends on the dashboard, so it is imported by path, not as a dependency. */
const CLUSTER = fileURLToPath(new URL("../../collector/test/cluster/cluster-world.ts", import.meta.url));

describeInBrowser("the dashboard of a cluster", () => {
  test("is served by a follower, shows the processes, and drains the owner", {
    timeout: 90_000,
  }, async () => {
    const directory = await mkdtemp(join(tmpdir(), "sluice-cluster-dashboard-"));
    const dashboardDirectory = await buildDashboard(directory);
    const { ADMIN_TOKEN, api, clusterWorld } = (await import(/* @vite-ignore */ CLUSTER)) as ClusterModule;
    await using world = await clusterWorld();
    const browser = await openBrowser();
    try {
      await world.start("node-1", { dashboardDirectory });
      await world.owner(["node-1"]);
      const { url } = await world.start("node-2", { dashboardDirectory });
      await world.start("node-3", { dashboardDirectory });
      for (;;) {
        const { members } = (await api(url, "GET", "/cluster")) as { members: { isReady: boolean }[] };
        if (members.filter(({ isReady }) => isReady).length === 3) break;
      }
      const { page, problems } = await openPage(browser, { width: 1_440, isPollingFaster: true });
      await page.goto(`${url}/#token=${ADMIN_TOKEN}`);
      await page.getByRole("link", { name: "Cluster" }).click();
      const table = page.getByRole("table", { name: "Processes, by name" });
      await table.getByRole("row", { name: /node-1 Owner Ready/ }).waitFor();
      await table.getByRole("row", { name: /node-3 Follower Ready/ }).waitFor();
      expect(await violations(page)).toEqual([]);
      const shots = process.env.SLUICE_SCREENSHOTS;
      if (shots !== undefined) await page.screenshot({ path: join(shots, "cluster-wide.png") });
      for (const width of [768, 360]) {
        await page.setViewportSize({ width, height: 800 });
        if (shots !== undefined)
          await page.screenshot({ path: join(shots, `cluster-${width}.png`), fullPage: true });
        const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
        expect([width, overflow]).toEqual([width, 0]);
      }
      await page.setViewportSize({ width: 1_440, height: 800 });
      await table
        .getByRole("row", { name: /node-1/ })
        .getByRole("button", { name: "Drain" })
        .click();
      await page.getByRole("dialog").getByRole("button", { name: "Drain" }).click();
      await table.getByRole("row", { name: /node-1 Follower Drained/ }).waitFor();
      await table.getByRole("row", { name: /node-[23] Owner Ready/ }).waitFor();
      // The overview reads the metrics of the owner through this process.
      await page.getByRole("link", { name: "Overview" }).click();
      await page.getByRole("heading", { name: "Overview" }).waitFor();
      expect(problems).toEqual([]);
    } finally {
      await browser.close();
      await rm(directory, { recursive: true, force: true });
    }
  });
});
