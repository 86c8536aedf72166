// A Worker whose client exists before the first request. Bundled by each bundler and run in workerd and in Vercel's edge runtime.
import { Analytics, ConfigError, undiciTransport } from "@sluice/node";
import { Analytics as SegmentAnalytics } from "@sluice/node/compat";

let analytics;
/** Calls outside of a request must neither throw nor lose their message. */
const start = (host) => {
  analytics = new Analytics({ writeKey: "key", host });
  analytics.track({ userId: "u1", event: "Started" });
};
/** workerd passes no environment to a module, so the bundler replaces this name. */
start(__COLLECTOR__);
const flushedAtStart = analytics.flush();

const optionOf = (construct) => {
  try {
    construct();
    return "no error";
  } catch (error) {
    return error instanceof ConfigError ? error.option : `not a ConfigError: ${error}`;
  }
};

/** The client of compat sends one event. Returns what it sent, and what the callback got. */
async function compat() {
  const sent = [];
  const fetch = async (_url, { body }) => {
    sent.push(...JSON.parse(body).batch.map(({ event }) => event));
    return Response.json({ success: true });
  };
  const segment = new SegmentAnalytics({ writeKey: "key", httpClient: fetch });
  const calledBack = new Promise((resolve) =>
    segment.track({ userId: "u1", event: "Segment" }, (error) => resolve(error ?? "delivered")),
  );
  await segment.closeAndFlush();
  return { sent, calledBack: await calledBack };
}

/** What the tests ask the Worker to do, by path. */
const ROUTES = {
  "/start": async () => ({ ...(await flushedAtStart) }),
  "/flush": async (keep) => {
    for (let index = 0; index < 30; index++) analytics.track({ userId: "u1", event: "Flushed" });
    keep(analytics.flush());
    return {};
  },
  "/track": async () => {
    analytics.track({ userId: "u1", event: "Left Behind" });
    return {};
  },
  "/await": async () => ({ ...(await analytics.flush({ timeoutMs: 5_000 })) }),
  "/keep": async (keep) => {
    analytics.track({ userId: "u1", event: "Kept" }, { waitUntil: keep });
    return {};
  },
  "/stats": async () => analytics.stats(),
  "/compat": compat,
  "/options": async () => ({
    spool: optionOf(() => new Analytics({ writeKey: "k", spool: { directory: "/tmp" } })),
    signals: optionOf(() => new Analytics({ writeKey: "k", flushOnSignals: true })),
    undici: optionOf(() => undiciTransport()),
  }),
};

export async function respond(request, keep) {
  const route = ROUTES[new URL(request.url).pathname];
  return Response.json(route ? await route(keep) : { error: "no such route" });
}

export default { fetch: (request, _env, context) => respond(request, (work) => context.waitUntil(work)) };
