import { openDashboard } from "./browser.mjs";
import { encodeGif } from "./gif.mjs";
import { settle } from "./settle.mjs";

const SIZE = { width: 1_240, height: 720 };

/**
 * A recording: a receiver breaks, its messages are grouped by cause, it is fixed, and they are retried together.
 * @returns {Promise<[name: string, bytes: Uint8Array][]>}
 */
export async function recordFailureStory({ browser, shop }) {
  const { collector, clock, answer, trade } = shop;
  await trade(20);
  const page = await openDashboard(browser, { ...shop, ...SIZE, theme: "light" });
  const frames = [];
  const shoot = async (caption, delayMs) => {
    await page.evaluate(showCaption, caption);
    frames.push({ png: await page.screenshot(), delayMs });
  };
  /** Moves the pointer to the element, and clicks it. */
  const click = async (target, caption) => {
    await target.scrollIntoViewIfNeeded();
    const box = await target.boundingBox();
    await page.evaluate(showPointer, [box.x + Math.min(box.width / 2, 60), box.y + box.height / 2]);
    await shoot(caption, 1_000);
    await target.click();
    await page.evaluate(showPointer, null);
    await settle(collector, 800);
  };

  await settle(collector);
  await shoot("Everything is delivered.", 1_800);
  answer("CRM sync", 401, '{"error":"invalid signature"}');
  await trade(4);
  await page.clock.setSystemTime(clock.now());
  await settle(collector);
  await shoot("A receiver breaks. The overview says which one, and why.", 2_600);

  await click(page.getByRole("link", { name: /^Deliveries/ }).first(), "Deliveries are grouped by cause.");
  await settle(collector);
  await shoot("Deliveries are grouped by cause.", 1_800);
  await click(page.getByRole("link", { name: "401 Unauthorized" }), "Open the cause.");
  await settle(collector);
  await shoot("The cause has an example, the response and what to do.", 2_800);

  answer("CRM sync");
  await shoot("You fix the receiver.", 1_600);
  await click(page.getByRole("button", { name: /^Retry all \d/ }), "Then retry all of the cause.");
  await page.evaluate(() => scrollTo(0, 0));
  for (let step = 0; step < 4; step++) {
    await shoot("The operation shows its progress.", 500);
    await settle(collector, 500);
  }
  await settle(collector, 4_000);
  await shoot("All of them are delivered.", 3_000);
  await page.context().close();
  return [["failure-story.gif", encodeGif(frames)]];
}

/** Runs in the page. */
function showCaption(text) {
  const box =
    document.querySelector("#caption") ??
    document.body.appendChild(Object.assign(document.createElement("div"), { id: "caption" }));
  box.textContent = text;
  Object.assign(box.style, {
    position: "fixed",
    right: "24px",
    top: "8px",
    padding: "6px 16px",
    pointerEvents: "none",
    borderRadius: "9px",
    background: "#12303c",
    color: "#fff",
    fontSize: "17px",
    fontWeight: "500",
    whiteSpace: "nowrap",
    zIndex: "1000",
  });
}

/** Runs in the page. A dot where the pointer is; null: none. */
function showPointer(at) {
  const dot =
    document.querySelector("#pointer") ??
    document.body.appendChild(Object.assign(document.createElement("div"), { id: "pointer" }));
  Object.assign(dot.style, {
    display: at === null ? "none" : "block",
    position: "fixed",
    left: `${(at?.[0] ?? 0) - 11}px`,
    top: `${(at?.[1] ?? 0) - 11}px`,
    width: "22px",
    height: "22px",
    border: "3px solid #e0582b",
    borderRadius: "50%",
    background: "rgb(224 88 43 / 30%)",
    pointerEvents: "none",
    zIndex: "1001",
  });
}
