import { Analytics } from "@sluice/node";
import { after } from "next/server";

let client;

// One client for the process. The first call makes it, because `next build` loads this file where
// SLUICE_WRITE_KEY and SLUICE_URL are not set.
export function analytics() {
  // Each call sends its message after the response. Next.js waits for that before it stops.
  client ??= new Analytics({ waitUntil: after });
  return client;
}
