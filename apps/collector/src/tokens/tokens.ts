import { createHash } from "node:crypto";
import type { TokenAccess, TokenView } from "@sluice/control-api";
import type { ConfigStore, Versioned } from "@sluice/event-log";
import { DOCUMENT_KINDS, mirrorDocuments } from "@sluice/event-log";
import { backgroundClock, type Clock } from "@sluice/resilience";
import { newId, randomText } from "../documents/new-id.js";

/** Kind `token`. Stores only the SHA-256 of the token. A token has 230 random bits, so no slow hash is needed. */
export interface TokenDocument {
  readonly name: string;
  readonly access: TokenAccess;
  readonly hash: string;
  readonly createdAt: string;
}

/** A valid token. */
export type KnownToken = TokenView;

/** `configured`: the token is set in the configuration and cannot be revoked. */
export type Revocation = "revoked" | "unknown" | "configured";

export interface Tokens {
  /** Returns the token's description, or undefined if the token is unknown. */
  verify(token: string): KnownToken | undefined;
  /**
   * Resolves when the token is stored. The result is the only place that contains the token itself.
   * `into`: the store to use, for a request that has its own view of the store. Default: `TokensOptions.config`.
   */
  create(
    name: string,
    access: TokenAccess,
    into?: Pick<ConfigStore, "put">,
  ): Promise<{ readonly view: TokenView; readonly token: string }>;
  /** Deletes the token, so that it is refused, and calls its `onRevoked` listeners. If the store fails, rejects and changes nothing. */
  revoke(id: string): Promise<Revocation>;
  /** Calls `listener` once when the token is revoked, or immediately if it already is. Returns an unsubscribe function. */
  onRevoked(id: string, listener: () => void): () => void;
  list(): readonly TokenView[];
  /** Stops watching the store. */
  close(): void;
}

export interface TokensOptions {
  readonly config: ConfigStore;
  readonly clock?: Clock;
  /** A token with full access from the environment or configuration. Valid while the process runs, never stored. */
  readonly configured?: string;
  /** The same for `/metrics` alone. */
  readonly configuredForMetrics?: string;
}

const PREFIX = "slt_";

function hashToken(token: string): string {
  return createHash("sha256").update(token, "utf8").digest("hex");
}

/** Keeps the admin tokens in memory by their hash, so that lookup time reveals nothing about a token. */
export async function openTokens({
  config,
  clock = backgroundClock,
  configured,
  configuredForMetrics,
}: TokensOptions): Promise<Tokens> {
  const byHash = new Map<string, KnownToken>();
  const listeners = new Map<string, Set<() => void>>();

  const isKnown = (id: string): boolean => {
    for (const token of byHash.values()) if (token.id === id) return true;
    return false;
  };
  const forget = (id: string): void => {
    for (const [hash, token] of byHash) if (token.id === id) byHash.delete(hash);
  };
  const notifyRevoked = (id: string): void => {
    const calls = listeners.get(id);
    listeners.delete(id);
    for (const call of calls ?? []) call();
  };
  const mirror = await mirrorDocuments<TokenDocument>(config, DOCUMENT_KINDS.token, (id, document) => {
    forget(id);
    if (document !== undefined) byHash.set(document.value.hash, viewOf(document));
    else notifyRevoked(id);
  });
  const fixed = new Set<string>();
  for (const [token, view] of [
    [configuredForMetrics, CONFIGURED_FOR_METRICS],
    [configured, CONFIGURED],
  ] as const) {
    if (token === undefined) continue;
    byHash.set(hashToken(token), view);
    fixed.add(view.id);
  }

  return {
    verify: (token) => byHash.get(hashToken(token)),
    async create(name, access, into = config) {
      const token = `${PREFIX}${randomText(39)}`;
      const value: TokenDocument = {
        name,
        access,
        hash: hashToken(token),
        createdAt: new Date(clock.now()).toISOString(),
      };
      const document = await into.put(DOCUMENT_KINDS.token, newId("tok"), value, 0);
      return { view: viewOf(document), token };
    },
    async revoke(id) {
      if (fixed.has(id)) return "configured";
      return (await config.delete(DOCUMENT_KINDS.token, id)) ? "revoked" : "unknown";
    },
    onRevoked(id, listener) {
      if (!isKnown(id)) {
        listener();
        return () => {};
      }
      const calls = listeners.get(id) ?? new Set();
      listeners.set(id, calls);
      calls.add(listener);
      return () => {
        calls.delete(listener);
        if (calls.size === 0 && listeners.get(id) === calls) listeners.delete(id);
      };
    },
    list: () => [...byHash.values()],
    close: () => mirror.close(),
  };
}

const CONFIGURED: KnownToken = {
  id: "configured",
  name: "set by the operator",
  access: "full",
  createdAt: new Date(0).toISOString(),
};

const CONFIGURED_FOR_METRICS: KnownToken = { ...CONFIGURED, id: "configured-metrics", access: "metrics" };

function viewOf({ id, value }: Versioned<TokenDocument>): TokenView {
  return { id, name: value.name, access: value.access, createdAt: value.createdAt };
}
