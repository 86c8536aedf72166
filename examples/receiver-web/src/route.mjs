// A Next.js route handler: save it as `app/hook/route.js`. The same function works in Remix, SvelteKit, Bun and Deno.
import { memoryDedupe, webHandler } from "@sluice/webhooks";

/** A message may arrive more than once: this process handles each id once. */
const dedupe = memoryDedupe();

export const POST = webHandler({
  secret: process.env.SHARED_SECRET,
  dedupe,
  onMessage(message, { messageId, attempt }) {
    const what = message.type === "track" ? `${message.type} ${JSON.stringify(message.event)}` : message.type;
    console.log(`${messageId}: ${what} (attempt ${attempt})`);
  },
});
