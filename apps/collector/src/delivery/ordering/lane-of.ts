import type { UncheckedMessage } from "@sluice/protocol";

/**
 * The lane in which a user's messages keep their order: 53 bits of a hash of `userId`, else of `anonymousId`. It is stored with retries, so
 * it must not change. Users whose hashes are equal wait for each other; among a million users, one in 18,000 times there is such a pair.
 */
export function laneOf({ userId, anonymousId }: UncheckedMessage): number {
  // Clients send an empty `userId` for visitors, who are not one user.
  const user = String(userId || anonymousId || "");
  // cyrb53: two 32-bit hashes side by side, mixed at the end.
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let at = 0; at < user.length; at++) {
    const code = user.charCodeAt(at);
    high = Math.imul(high ^ code, 2_654_435_761);
    low = Math.imul(low ^ code, 1_597_334_677);
  }
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  return 2 ** 32 * (low & 0x1f_ffff) + (high >>> 0);
}
