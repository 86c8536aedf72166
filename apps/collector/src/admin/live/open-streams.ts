import { CollectorError } from "../../errors.js";

/** Each open stream looks at every message, so many of them would slow ingestion down. */
const MOST_OF_A_TOKEN = 20;
const MOST = 200;
/** Streams last for hours: a client that asks again at once would find the same. */
const RETRY_AFTER_SECONDS = 10;

/** The live streams that are open. */
export interface OpenStreams {
  /** Opens one for this token, and returns what closes it. Throws `rate_limited` if the token, or all of them together, have too many. */
  open(tokenId: string): () => void;
}

export function openStreams(): OpenStreams {
  const ofToken = new Map<string, number>();
  let all = 0;
  return {
    open(tokenId) {
      const own = ofToken.get(tokenId) ?? 0;
      if (own >= MOST_OF_A_TOKEN)
        throw tooMany(`this token has ${MOST_OF_A_TOKEN} live streams open: close one, or use another token`);
      if (all >= MOST) throw tooMany(`${MOST} live streams are open, which is the limit of a collector`);
      ofToken.set(tokenId, own + 1);
      all += 1;
      return () => {
        const left = (ofToken.get(tokenId) ?? 1) - 1;
        if (left === 0) ofToken.delete(tokenId);
        else ofToken.set(tokenId, left);
        all -= 1;
      };
    },
  };
}

function tooMany(detail: string): CollectorError {
  return new CollectorError("rate_limited", detail, { details: { retryAfterSeconds: RETRY_AFTER_SECONDS } });
}
