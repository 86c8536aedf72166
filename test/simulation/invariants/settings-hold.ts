import type { Invariant } from "./invariant.js";

/** Changes of a destination. */
export const settingsHold: Invariant = {
  name: "settings-hold",
  promise:
    "Once the collector has answered that a destination is disabled or has other URLs, no request begins to it, or to its former URLs, whatever was under way.",
  check({ cast }) {
    return cast.destinations.flatMap(({ plan, urls, off, left }) =>
      cast.history.posts.flatMap(({ url, messageId, atMs }) => {
        if (!urls.includes(url)) return [];
        const wrong: string[] = [];
        if (off.some(({ fromMs, untilMs }) => atMs > fromMs && atMs < untilMs))
          wrong.push(`${messageId} was sent to ${plan.name} at ${atMs}, while it was disabled`);
        if (left.some((one) => atMs > one.fromMs && one.urls.includes(url)))
          wrong.push(`${messageId} was sent to ${url} at ${atMs}, after ${plan.name} had moved`);
        return wrong;
      }),
    );
  },
};
