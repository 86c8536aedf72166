// Sends 250 messages of all kinds and prints how they ended. Run on every runtime that has processes.
import { Analytics } from "@sluice/node";

const analytics = new Analytics({ writeKey: "key", host: process.env.SLUICE_URL, gzip: true });
for (let index = 0; index < 50; index++) {
  const user = { userId: "u1" };
  analytics.track({ ...user, event: "E", properties: { index } });
  analytics.identify({ ...user, traits: { index } });
  analytics.page("Home", user);
  analytics.group({ ...user, groupId: "g1" });
  analytics.alias({ ...user, previousId: "p1" });
}
console.log(JSON.stringify(await analytics.close()));
