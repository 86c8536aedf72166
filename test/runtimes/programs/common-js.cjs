// As script.mjs, in CommonJS, and ended by the empty event loop instead of `close()`.
const { Analytics } = require("@sluice/node");

const analytics = new Analytics({ writeKey: "key", host: process.env.SLUICE_URL });
for (let index = 0; index < 250; index++)
  analytics.track({ userId: "u1", event: "E", properties: { index } });
let delivered = 0;
analytics.on("delivered", ({ messageIds }) => {
  delivered += messageIds.length;
  if (delivered === 250) console.log(JSON.stringify({ delivered, failed: 0, refused: 0 }));
});
