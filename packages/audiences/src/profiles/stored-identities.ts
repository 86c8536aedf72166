import type { Identity, ProfileStore } from "@sluice/event-log";
import { decodeProfile } from "./profile.js";
import { SCANNED_BYTES } from "./scanned-bytes.js";

const AT_ONCE = { profiles: 2_000, bytes: SCANNED_BYTES };

/** The ids of all stored profiles. */
export async function* storedIdentities(store: Pick<ProfileStore, "scan">): AsyncGenerator<Identity> {
  for (let after = -1; ; ) {
    const { records, isEnd } = await store.scan(after, AT_ONCE);
    for (const record of records) yield* decodeProfile(record).identities as Identity[];
    const last = records.at(-1);
    if (isEnd || last === undefined) return;
    after = last.number;
  }
}
