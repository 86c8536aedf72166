import { readFileSync } from "node:fs";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { violations } from "./accessibility.js";
import { describeInBrowser, openBrowser, openPage, type WatchedPage } from "./browser.js";
import { type RunningDashboard, runDashboard } from "./running-dashboard.js";

interface Mail {
  readonly from: string;
  readonly to: readonly string[];
  readonly user: string | undefined;
}

interface SmtpModule {
  smtpServer(options: object): Promise<AsyncDisposable & { readonly port: number; next(): Promise<Mail> }>;
}

/** Packages that the dashboard does not depend on, by path. */
const pathTo = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const EMAIL = pathTo("packages/destination-email/src/index.ts");
const NATS = pathTo("packages/destination-nats/src/index.ts");
const SMTP = pathTo("packages/destination-email/test/smtp-server.ts");
const CA = pathTo("apps/collector/test/sender/fixtures/ca.pem");

describeInBrowser("a destination type of a package", () => {
  const authorities = getCACertificates("default");
  let browser: Browser;
  let dashboard: RunningDashboard;
  let watched: WatchedPage;
  let page: Page;
  let smtp: SmtpModule;

  beforeAll(async () => {
    setDefaultCACertificates([...authorities, readFileSync(CA, "utf8")]);
    smtp = (await import(/* @vite-ignore */ SMTP)) as SmtpModule;
    const [email = {}, nats = {}] = await Promise.all(
      [EMAIL, NATS].map(async (path) => (await import(/* @vite-ignore */ path)).default as object),
    );
    [browser, dashboard] = await Promise.all([
      openBrowser(),
      runDashboard({ destinations: [email, nats, "not-installed"] }),
    ]);
  });
  afterAll(async () => {
    setDefaultCACertificates(authorities);
    await browser?.close();
    await dashboard?.close();
  });
  beforeEach(async () => {
    watched = await openPage(browser, { isPollingFaster: true });
    page = watched.page;
    await page.goto(dashboard.signInUrl);
    await page.getByRole("heading", { level: 1 }).waitFor();
  });
  afterEach(async () => {
    expect(watched.problems).toEqual([]);
    await watched.context.close();
  });

  test("texts of several lines keep them", async () => {
    await page.goto(`${dashboard.url}/catalog/nats`);
    for (const name of ["Certificate authority", "Credentials"]) {
      const field = page.getByLabel(name);
      await field.fill("-----BEGIN-----\nAAAA\n-----END-----");
      expect(await field.inputValue()).toBe("-----BEGIN-----\nAAAA\n-----END-----");
    }
  });

  test("a package that cannot be used is named, and what to do", async () => {
    await page.goto(`${dashboard.url}/catalog`);
    const unusable = page.getByRole("region", { name: "Packages that cannot be used" });
    await unusable.getByText("run `npm install not-installed` there").waitFor();
  });

  test("a destination whose package is gone can still be read and deleted", async () => {
    const { id } = await dashboard.api<{ id: string }>("POST", "/destinations", {
      type: "email",
      name: "Mail",
      settings: { host: "127.0.0.1", security: "none", from: "a@example.com", to: ["b@example.com"] },
    });
    await page.route("**/api/v1/catalog", (route) => route.fulfill({ json: { items: [], unusable: [] } }));
    await page.goto(`${dashboard.url}/destinations/${id}?tab=settings`);
    await page.getByText("The collector has no destination type email.").waitFor();
    await page.getByRole("button", { name: "Delete destination" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete destination" }).click();
    await page.getByRole("heading", { name: "Destinations", level: 1 }).waitFor();
  });

  test("settings that belong together are one part of the form", async () => {
    await page.goto(`${dashboard.url}/catalog/webhooks`);
    await page.getByRole("textbox", { name: "URL 1" }).fill("http://127.0.0.1:9/hook");
    await page.getByText("More settings").click();
    const batch = page.getByRole("group", { name: "Batches" });
    const most = batch.getByRole("spinbutton", { name: "Messages in a request" });
    await most.fill("0");
    await page.getByRole("checkbox", { name: "Enabled" }).uncheck();
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    await batch.getByText("Messages in a request must be an integer from 1 to 1000").waitFor();
    await most.fill("50");
    await page.getByRole("button", { name: "Connect", exact: true }).click();
    await page.getByRole("tab", { name: "Settings" }).click();
    await page.getByText("More settings").click();
    const id = /destinations\/([^/?]+)/.exec(page.url())?.[1] ?? "";
    const settings = async () =>
      (await dashboard.api<{ settings: object }>("GET", `/destinations/${id}`)).settings;
    expect(await settings()).toMatchObject({ batch: { maxMessages: 50, maxAgeMs: 1_000 } });
    expect(await violations(page)).toEqual([]);
    await most.fill("");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    expect(await settings()).not.toHaveProperty("batch");
    await dashboard.api("DELETE", `/destinations/${id}`);
  });

  test("email is set up, changed and moved to another server", async () => {
    const login = { user: "sluice", password: "correct horse" };
    await using server = await smtp.smtpServer({ security: "starttls", login });
    await using other = await smtp.smtpServer({ security: "starttls", login });
    const field = (name: string) => page.getByRole("textbox", { name, exact: true });
    await page.goto(`${dashboard.url}/catalog`);
    const tile = page.getByRole("link", { name: /Email.*SMTP/ });
    // Its own icon.
    expect(await tile.locator("path").getAttribute("d")).toMatch(/^M2 4.5a1 1/);
    await tile.click();
    await field("Mail server").fill("127.0.0.1");
    await page.getByRole("spinbutton", { name: "Port" }).fill(String(server.port));
    await field("User name optional").fill(login.user);
    const password = page.getByLabel("Password");
    expect(await password.getAttribute("type")).toBe("password");
    await password.fill(login.password);
    await page.getByRole("button", { name: "Connect and send a test" }).click();
    await page.getByText("Sender is required").waitFor();
    await page.getByText("Recipients is required").waitFor();
    await field("Sender").fill("sluice@example.com");
    await field("Recipients").fill("ops@example.com\n\n dev@example.com ");
    expect(await violations(page)).toEqual([]);
    const first = server.next();
    await page.getByRole("button", { name: "Connect and send a test" }).click();
    const result = page.getByRole("region", { name: "Test" });
    await result.getByText("Delivered", { exact: true }).waitFor();
    await result.getByText("250").first().waitFor();
    expect(await first).toMatchObject({
      from: "<sluice@example.com>",
      to: ["<ops@example.com>", "<dev@example.com>"],
      user: login.user,
    });

    // The password is not shown again, and is kept.
    await page.getByRole("tab", { name: "Settings" }).click();
    await page.getByText("Set.", { exact: true }).waitFor();
    expect(await field("Recipients").inputValue()).toBe("ops@example.com\ndev@example.com");
    await field("Sender").fill("alerts@example.com");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Saved", { exact: true }).waitFor();
    const second = server.next();
    await page.getByRole("button", { name: "Send a test" }).click();
    expect(await second).toMatchObject({ from: "<alerts@example.com>", user: login.user });

    // It must not be sent to another server unless it is entered again.
    await page.getByRole("spinbutton", { name: "Port" }).fill(String(other.port));
    await page.getByText("Enter it again, because the setting “Port” is changed.").waitFor();
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Enter password again: port was changed").waitFor();
    await password.fill(login.password);
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByText("Set.", { exact: true }).waitFor();
    const moved = other.next();
    await page.getByRole("button", { name: "Send a test" }).click();
    expect(await moved).toMatchObject({ user: login.user });

    // It can be removed, together with the user name.
    await page.getByRole("button", { name: "Remove", exact: true }).click();
    await page.getByText("Saving removes it.").waitFor();
    await field("User name optional").fill("");
    await page.getByRole("button", { name: "Save", exact: true }).click();
    await page.getByRole("button", { name: "Keep it" }).waitFor({ state: "detached" });
    const { items } = await dashboard.api<{ items: { settings: object }[] }>("GET", "/destinations");
    expect(items[0]?.settings).toMatchObject({ passwordSet: false });
  });
});
