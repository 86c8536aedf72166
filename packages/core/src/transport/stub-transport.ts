import type { Transport } from "./transport.js";

/** Sends nothing and answers as a collector that took everything. */
export const stubTransport: Transport = {
  send: async () => ({ kind: "answered", status: 200, body: "" }),
};
