import type { Message } from "@sluice/transformations";

const BOTS = /bot\b|crawl|spider|headless|lighthouse|pingdom|preview|slurp/i;

/** Drops what crawlers and monitors did. */
export default function dropBots(message: Message) {
  const { userAgent } = message.context ?? {};
  return typeof userAgent === "string" && BOTS.test(userAgent) ? null : message;
}
