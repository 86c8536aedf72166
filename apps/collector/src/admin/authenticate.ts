import type { Clock } from "@sluice/resilience";
import { CollectorError } from "../errors.js";
import type { HttpRequest } from "../http/route.js";
import type { GuessLimit } from "./guess-limit.js";
import { hashToken, type KnownToken, type Tokens } from "./tokens.js";

/** Whose request it is. Throws `unauthorized`, or `rate_limited` while the address has to wait after wrong tokens. */
export function authenticate(
  request: HttpRequest,
  tokens: Tokens,
  guesses: GuessLimit,
  clock: Clock,
): KnownToken {
  const presented = /^Bearer +([^\s]+) *$/i.exec(request.headers.authorization ?? "")?.[1];
  if (presented === undefined) throw new CollectorError("unauthorized");
  const hash = hashToken(presented);
  const waitMs = guesses.waitMs(request.remoteAddress, hash, clock.monotonic());
  if (waitMs > 0) {
    const seconds = Math.ceil(waitMs / 1_000);
    throw new CollectorError("rate_limited", "too many wrong admin tokens from this address", {
      details: { retryAfterSeconds: seconds },
    });
  }
  const token = tokens.verify(presented);
  if (token === undefined) {
    guesses.wrong(request.remoteAddress, clock.monotonic());
    throw new CollectorError("unauthorized", "this token is not known");
  }
  guesses.right(request.remoteAddress, hash);
  return token;
}
