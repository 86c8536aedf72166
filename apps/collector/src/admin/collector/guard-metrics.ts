import type { Clock } from "@sluice/resilience";
import type { Route } from "../../http/routing.js";
import { authenticate } from "../../tokens/authenticate.js";
import { guessLimit } from "../../tokens/guess-limit.js";
import type { Tokens } from "../../tokens/tokens.js";
import { challenge } from "../endpoint/endpoint.js";

const ADVICE =
  "From other machines, /metrics needs a token too: set metricsToken (SLUICE_METRICS_TOKEN), or create one with `sluice tokens create prometheus --access metrics`";

/** Wraps `/metrics`: clients on this machine need no token, all others one of any access. */
export function guardMetrics(route: Route, tokens: Tokens, clock: Clock): Route {
  const read = route.methods.GET;
  if (read === undefined) throw new Error("The route of the metrics has no GET");
  const guesses = guessLimit();
  return {
    ...route,
    methods: {
      GET(request) {
        if (request.isLocal) return read(request);
        try {
          authenticate(request, tokens, guesses, clock);
        } catch (error) {
          return challenge(error, ADVICE);
        }
        return read(request);
      },
    },
  };
}
