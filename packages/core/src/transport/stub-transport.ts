import type { Transport } from "./transport.js";

/** Sends nothing and answers like a collector that accepted everything. */
export const stubTransport: Transport = {
  send: async () => ({ kind: "answered", status: 200, body: "" }),
};
