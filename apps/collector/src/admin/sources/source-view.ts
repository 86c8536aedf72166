import { identityPolicyOf } from "@sluice/audiences";
import type { SourceView, WriteKeyView } from "@sluice/control-api";
import type { Versioned } from "@sluice/event-log";
import type { Region } from "@sluice/protocol";
import type { SourceDocument } from "../../documents/documents.js";
import type { KnownToken } from "../../tokens/tokens.js";
import { withoutUndefined } from "../without-undefined.js";

/**
 * A source as the token may see it. A token with read access sees masked write keys, because a key allows sending. A source
 * keeps the region in which it was created, but shows it only if the collector has one (`region`).
 */
export function sourceView(
  { id, version, value }: Versioned<SourceDocument>,
  { access }: Pick<KnownToken, "access">,
  region: Region | undefined,
): SourceView {
  return withoutUndefined({
    id,
    name: value.name,
    kind: value.kind,
    createdAt: value.createdAt,
    writeKeys: access === "full" ? value.writeKeys : value.writeKeys.map(maskedKey),
    blockedEvents: value.blockedEvents,
    rateLimit: value.rateLimit,
    identity: identityPolicyOf(value),
    region: region && value.region,
    transformationId: value.transformationId,
    version,
  });
}

/** The prefix and four characters, which is enough to tell keys apart. */
function maskedKey({ key, createdAt }: WriteKeyView): WriteKeyView {
  return { key: `${key.slice(0, key.lastIndexOf("_") + 5)}…`, createdAt, isMasked: true };
}
