import { findWriteKey } from "@sluice/event-log";
import { type MessageKind, type Region, regionOfWriteKey } from "@sluice/protocol";
import { LRUCache } from "lru-cache";
import { CollectorError } from "../../errors.js";
import type { OpenedRequest } from "../messages/open-request.js";
import type { Source, SourceDirectory } from "./source-directory.js";

/** The user name of a Basic header, with or without the colon; undefined if there is none. */
export function basicUser(header: string | undefined): string | undefined {
  if (header === undefined || !/^basic /i.test(header)) return undefined;
  const text = Buffer.from(header.slice(6).trim(), "base64").toString("utf8");
  const colon = text.indexOf(":");
  const user = colon === -1 ? text : text.slice(0, colon);
  return user === "" ? undefined : user;
}

/** The write keys in a body. */
interface NamedKeys {
  /** From the envelope, or the single message. */
  readonly ofRequest: string | undefined;
  /** From the messages of a batch, each once. */
  readonly ofMessages: readonly string[];
}

export function namedKeys({ root, items, isBatch }: OpenedRequest): NamedKeys {
  const ofMessages = new Set<string>();
  if (isBatch) {
    for (const item of items) {
      const key = textOf((item as { writeKey?: unknown } | null)?.writeKey);
      if (key !== undefined) ofMessages.add(key);
    }
  }
  return { ofRequest: textOf(root?.writeKey), ofMessages: [...ofMessages] };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** A write key, and the source that it belongs to. */
export interface Credentials {
  readonly writeKey: string;
  readonly source: Source;
}

interface AuthenticatorOptions {
  readonly sources: SourceDirectory;
  /** The region this collector runs as. Undefined: regions are not configured, and every known key is accepted. */
  readonly region: Region | undefined;
  /** Base URLs of the regions, for clients that sent to the wrong one. */
  readonly regionUrls: Readonly<Partial<Record<Region, string>>>;
}

/** Finds the source of a request. Its methods throw `invalid_write_key` or `wrong_region`. */
export interface Authenticator {
  source(writeKey: string | undefined): Source;
  /** Credentials of an `Authorization` header; undefined if it has no Basic user name. */
  fromHeader(header: string | undefined): Credentials | undefined;
  /** Credentials in a body. The body is scanned once and not parsed, because the sender is not known yet. */
  fromBody(body: Uint8Array, kind: MessageKind | undefined): Credentials;
  /** The keys, of those named in a body, that do not belong to the source. */
  foreignKeys(writeKeys: readonly string[], source: Source): ReadonlySet<string>;
}

/** Headers to remember. One key has many spellings, but each client uses one. */
const MAX_REMEMBERED = 1_000;
/** Longer headers are unusual and are not remembered, so that all of them together take at most half a megabyte. */
const MAX_REMEMBERED_LENGTH = 512;

const NO_KEYS: ReadonlySet<string> = new Set();

export function createAuthenticator(options: AuthenticatorOptions): Authenticator {
  const { sources } = options;
  const remembered = rememberedHeaders(sources);

  const source = (writeKey: string | undefined): Source => {
    const found = writeKey === undefined ? undefined : sources.find(writeKey);
    if (found === undefined) {
      assertHere(writeKey === undefined ? undefined : regionOfWriteKey(writeKey), options);
      const reason =
        writeKey === undefined
          ? "no write key as Basic user name nor as `writeKey` in the body"
          : "no source has this write key";
      throw new CollectorError("invalid_write_key", reason);
    }
    assertHere(found.region, options);
    return found;
  };

  return {
    source,
    fromHeader(header) {
      const known = remembered.find(header);
      if (known !== undefined) return known;
      const writeKey = basicUser(header);
      if (writeKey === undefined || header === undefined) return undefined;
      const found = { writeKey, source: source(writeKey) };
      remembered.put(header, found);
      return found;
    },
    fromBody(body, kind) {
      const writeKey = findWriteKey(body, kind === undefined);
      return { writeKey: writeKey as string, source: source(writeKey) };
    },
    foreignKeys(writeKeys, { id }) {
      if (writeKeys.length === 0) return NO_KEYS;
      return new Set(writeKeys.filter((key) => sources.find(key)?.id !== id));
    },
  };
}

/** Throws `wrong_region` if the region is known and is not this collector's. */
function assertHere(
  region: Region | undefined,
  { region: own, regionUrls }: Pick<AuthenticatorOptions, "region" | "regionUrls">,
): void {
  if (region === undefined || own === undefined || region === own) return;
  const url = regionUrls[region];
  throw new CollectorError("wrong_region", `its region is ${region}${url === undefined ? "" : `: ${url}`}`, {
    details: { region, ...(url === undefined ? {} : { url }) },
  });
}

/**
 * Remembers valid headers, so that they are decoded and hashed once. It never remembers invalid ones: a map compares by a hash
 * that is seeded for each process, so response times do not tell how close a guess came.
 */
function rememberedHeaders(sources: Pick<SourceDirectory, "version">) {
  const byHeader = new LRUCache<string, Credentials>({ max: MAX_REMEMBERED });
  let version = -1;
  return {
    find(header: string | undefined): Credentials | undefined {
      return header === undefined || version !== sources.version ? undefined : byHeader.get(header);
    },
    /** Call it in the same turn in which the source was looked up. */
    put(header: string, credentials: Credentials): void {
      if (header.length > MAX_REMEMBERED_LENGTH) return;
      if (version !== sources.version) byHeader.clear();
      version = sources.version;
      byHeader.set(header, credentials);
    },
  };
}

/** Thrown when the body names another source's key than the request. */
export function keysDisagree(): CollectorError {
  return new CollectorError("invalid_write_key", "the write keys in the header and the body disagree");
}
