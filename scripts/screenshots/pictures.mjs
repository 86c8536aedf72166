import { openDashboard } from "./browser.mjs";
import { settle } from "./settle.mjs";

const BROKEN_MINUTES = 18;

/**
 * Still pictures of a shop in which one receiver rejects messages.
 * @returns {Promise<[name: string, bytes: Uint8Array][]>}
 */
export async function takePictures({ browser, shop }) {
  const { collector, ids, answer, trade, minutes } = shop;
  await trade(minutes - BROKEN_MINUTES);
  answer("CRM sync", 401, '{"error":"invalid signature"}');
  await trade(BROKEN_MINUTES);
  const page = await openDashboard(browser, { ...shop, width: 1_280, height: 800, theme: "light" });
  const shoot = async (path) => {
    await page.goto(collector.url + path);
    await page.getByRole("heading", { level: 1 }).waitFor();
    do await settle(collector);
    while ((await page.getByLabel("Loading").count()) > 0);
    return page.screenshot();
  };
  const { items } = await collector.api("GET", `/deliveries?destinationId=${ids["CRM sync"]}&limit=1`);
  const pictures = [
    ["overview.png", await shoot("/")],
    ["deliveries.png", await shoot(`/deliveries?destination=${ids["CRM sync"]}&cause=http_401`)],
    ["message.png", await shoot(`/messages/${items[0].messageId}`)],
  ];
  await page.context().close();
  return pictures;
}
