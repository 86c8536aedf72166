// A route of Next.js on Vercel, for example `app/api/orders/route.js`. It works in both runtimes, Node.js and Edge.
// Set SLUICE_WRITE_KEY and SLUICE_URL in the project's environment.
import { Analytics } from "@sluice/node";
import { waitUntil } from "@vercel/functions";

// Each call sends its message after the response, and keeps the function alive until then.
const analytics = new Analytics({
  writeKey: process.env.SLUICE_WRITE_KEY,
  host: process.env.SLUICE_URL,
  waitUntil,
});

export async function POST(request) {
  const { userId, total } = await request.json();
  analytics.track({ userId, event: "Order Completed", properties: { total } });
  return Response.json({ ok: true });
}
