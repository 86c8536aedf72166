// A function for AWS Lambda: `esbuild src/lambda.mjs --bundle --platform=node --outfile=index.js`.
// Set SLUICE_WRITE_KEY and SLUICE_URL in the function's environment.
import { Analytics } from "@sluice/node";

// One client for all invocations of this instance.
const analytics = new Analytics({
  writeKey: process.env.SLUICE_WRITE_KEY,
  host: process.env.SLUICE_URL,
  onError: (status, message) => console.error(`event lost: ${status} ${message}`),
});

export async function handler(event) {
  analytics.track({ userId: event.userId, event: "Order Completed", properties: { total: event.total } });
  // Lambda freezes the instance as soon as the handler returns. What is still queued after 2 s waits for the next invocation.
  const { queued } = await analytics.flush({ timeoutMs: 2_000 });
  return { statusCode: 200, body: JSON.stringify({ queued }) };
}
