import { createHash } from "node:crypto";
import type { TokenAccess, TokenView } from "@sluice/protocol";
import { backgroundClock, type Clock } from "@sluice/resilience";
import { DOCUMENT_KINDS } from "../store/documents.js";
import type { ConfigStore, Versioned } from "../store/store.js";
import { newId, randomText } from "./new-id.js";

/** Kind `token`: a token's SHA-256 stands in for it. A token has 230 random bits, so no slow hash is needed. */
export interface TokenDocument {
  readonly name: string;
  readonly access: TokenAccess;
  readonly hash: string;
  readonly createdAt: string;
}

/** A token that was presented and is known. */
export type KnownToken = TokenView;

export interface Tokens {
  /** The token's description; undefined when it is none of ours. */
  verify(token: string): KnownToken | undefined;
  /**
   * Resolves when it is stored. The token itself is in this answer and nowhere else.
   * `into`: the store to put it in, where a request has its own view of it. Default: the one that was opened.
   */
  create(
    name: string,
    access: TokenAccess,
    into?: Pick<ConfigStore, "put">,
  ): Promise<{ readonly view: TokenView; readonly token: string }>;
  /** Whether there was one. It is refused from now on. */
  revoke(id: string): Promise<boolean>;
  list(): readonly TokenView[];
  /** Stops watching the store. */
  close(): void;
}

export interface TokensOptions {
  readonly config: ConfigStore;
  readonly clock?: Clock;
  /** A token that the operator set (environment, configuration): valid while this process runs, never stored. */
  readonly configured?: string;
}

const PREFIX = "slt_";

export function hashToken(token: string): string {
  return createHash("sha256").update(token, "utf8").digest("hex");
}

/** The admin tokens, held in memory by their hash: a look-up reveals nothing about a token by its time. */
export async function openTokens({
  config,
  clock = backgroundClock,
  configured,
}: TokensOptions): Promise<Tokens> {
  let byHash = new Map<string, KnownToken>();

  const load = async (): Promise<void> => {
    const documents = await config.list<TokenDocument>(DOCUMENT_KINDS.token);
    byHash = new Map(documents.map((document) => [document.value.hash, viewOf(document)]));
    if (configured !== undefined) byHash.set(hashToken(configured), CONFIGURED);
  };
  await load();
  const unwatch = config.watch((change) => {
    // A failing store keeps the tokens that were known; the next change reads them again.
    if (change.kind === DOCUMENT_KINDS.token) load().catch(() => {});
  });

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
      const view = viewOf(document);
      byHash.set(value.hash, view);
      return { view, token };
    },
    async revoke(id) {
      for (const [hash, token] of byHash) if (token.id === id) byHash.delete(hash);
      return config.delete(DOCUMENT_KINDS.token, id);
    },
    list: () => [...byHash.values()],
    close: unwatch,
  };
}

const CONFIGURED: KnownToken = {
  id: "configured",
  name: "set by the operator",
  access: "full",
  createdAt: new Date(0).toISOString(),
};

function viewOf({ id, value }: Versioned<TokenDocument>): TokenView {
  return { id, name: value.name, access: value.access, createdAt: value.createdAt };
}
