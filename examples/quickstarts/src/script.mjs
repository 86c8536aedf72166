// A script: `node src/script.mjs`
import { Analytics } from "@sluice/node";

// Reads SLUICE_WRITE_KEY and SLUICE_URL.
const analytics = new Analytics();

analytics.track({ userId: "42", event: "Signed Up", properties: { plan: "pro" } });

// Sends what is queued before the script ends.
const { delivered, failed } = await analytics.close();
console.log(`delivered ${delivered}, failed ${failed}`);
