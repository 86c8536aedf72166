import type { Clock } from "@sluice/resilience";
import { CollectorError } from "../errors.js";
import type { HttpRequest } from "../http/routing.js";
import type { GuessLimit } from "./guess-limit.js";
import type { KnownToken, Tokens } from "./tokens.js";

/** Returns the request's token. Throws `unauthorized`, or `rate_limited` if the sender has to wait after several wrong tokens. */
export function authenticate(
  request: HttpRequest,
  tokens: Tokens,
  guesses: GuessLimit,
  clock: Clock,
): KnownToken {
  const presented = /^Bearer +([^\s]+) *$/i.exec(request.headers.authorization ?? "")?.[1];
  if (presented === undefined) throw new CollectorError("unauthorized");
  const token = tokens.verify(presented);
  if (token !== undefined) return token;
  const waitMs = guesses.wrong(request.remoteAddress, clock.monotonic());
  if (waitMs === 0) throw new CollectorError("unauthorized", "this admin token is unknown");
  throw new CollectorError("rate_limited", "too many wrong admin tokens from this address", {
    details: { retryAfterSeconds: Math.ceil(waitMs / 1_000) },
  });
}
