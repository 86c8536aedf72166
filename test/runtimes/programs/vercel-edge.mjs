// The recipe for Vercel as an edge function. Vercel passes `waitUntil` of the request through this global.
import { POST } from "./vercel.mjs";

addEventListener("fetch", (event) => {
  globalThis[Symbol.for("@vercel/request-context")] = {
    get: () => ({ waitUntil: (work) => event.waitUntil(work) }),
  };
  event.respondWith(POST(event.request));
});
