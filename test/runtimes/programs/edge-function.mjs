// The Worker as an edge function with an event listener, which is what Vercel's edge runtime runs.
import { respond } from "./worker.mjs";

addEventListener("fetch", (event) => {
  event.respondWith(respond(event.request, (work) => event.waitUntil(work)));
});
