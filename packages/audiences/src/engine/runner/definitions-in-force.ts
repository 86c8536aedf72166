import { DOCUMENT_KINDS, NotInForce, type Store } from "@sluice/event-log";
import {
  AUDIENCE,
  type AudienceDocument,
  COMPUTED_TRAIT,
  type ComputedTraitDocument,
  type Definition,
} from "../../definitions/definitions.js";
import { type IdentifyingSource, type IdentityPolicy, identityPolicyOf } from "../../profiles/identities.js";

/** Kinds of documents that the engine works by. */
const DEFINING: ReadonlySet<string> = new Set([AUDIENCE, COMPUTED_TRAIT, DOCUMENT_KINDS.source]);

type Waiter = PromiseWithResolvers<void>;

/**
 *   stale      Documents changed that the engine has not seen. Entered at the start, by a change, after a failure. Holds the
 *              calls that wait for the change. Left by `takeUp`.
 *   taking_up  The documents are being read and given to the engine, for the calls that waited then. A change meanwhile makes it stale.
 *   current    The engine works by the documents as they are stored.
 */
type State =
  | { readonly kind: "stale"; readonly waiters: readonly Waiter[] }
  | { readonly kind: "taking_up"; readonly waiters: readonly Waiter[] }
  | { readonly kind: "current" };

export interface StoredDefinitions {
  readonly definitions: readonly Definition[];
  readonly policies: readonly (readonly [sourceId: string, policy: IdentityPolicy])[];
}

/** Which version of each definition the engine works by, and whether the stored ones are newer. */
export class DefinitionsInForce {
  readonly #config: Store["config"];
  #state: State = { kind: "stale", waiters: [] };
  #versions: ReadonlyMap<string, number> = new Map();
  /** How often the engine has lost its definitions. */
  #losses = 0;
  /** Why the last attempt to take up the definitions failed. */
  #failure: unknown;

  constructor(config: Store["config"]) {
    this.#config = config;
  }

  /** Whether a change of a document of this kind has to be taken up. */
  static isDefining(kind: string): boolean {
    return DEFINING.has(kind);
  }

  get isStale(): boolean {
    return this.#state.kind === "stale";
  }

  /** Whether a call waits for its change to be taken up. */
  get isAwaited(): boolean {
    return this.#state.kind === "stale" && this.#state.waiters.length > 0;
  }

  /** Whether the engine works by an audience or computed trait. */
  get isAnyInForce(): boolean {
    return this.#versions.size > 0;
  }

  /** Whether an audience or computed trait is stored. */
  async isAnyStored(): Promise<boolean> {
    const stored = await Promise.all([this.#config.list(AUDIENCE), this.#config.list(COMPUTED_TRAIT)]);
    return stored.some((documents) => documents.length > 0);
  }

  markStale(): void {
    if (this.#state.kind !== "stale") this.#setState({ kind: "stale", waiters: [] });
  }

  /** The engine has lost its definitions. */
  lost(): void {
    this.#versions = new Map();
    this.#losses += 1;
    this.markStale();
  }

  /** Marks the definitions as stale. Resolves when they are taken up as they are now; rejects when the next attempt fails. */
  takenUp(): Promise<void> {
    const waiter = Promise.withResolvers<void>();
    const waiters = this.#state.kind === "stale" ? this.#state.waiters : [];
    this.#setState({ kind: "stale", waiters: [...waiters, waiter] });
    return waiter.promise;
  }

  /** Gives the stored definitions to `apply`, which makes the engine work by them. */
  async takeUp(apply: (stored: StoredDefinitions) => Promise<void>): Promise<void> {
    const waiters = this.#state.kind === "stale" ? this.#state.waiters : [];
    const own: State = { kind: "taking_up", waiters };
    this.#setState(own);
    const losses = this.#losses;
    try {
      const { versions, ...stored } = await readDefinitions(this.#config);
      await apply(stored);
      if (losses === this.#losses) this.#versions = versions;
      this.#failure = undefined;
      if (this.#state === own) this.#setState({ kind: "current" });
      for (const waiter of waiters) waiter.resolve();
    } catch (error) {
      this.markStale();
      this.#failure = error;
      for (const waiter of waiters) waiter.reject(error);
      throw error;
    }
  }

  /** Throws `NotInForce` unless the engine works by this version or a newer one; without `version`, unless it has forgotten the definition. */
  require(id: string, version: number | undefined): void {
    const known = this.#versions.get(id);
    if (version === undefined ? known === undefined : known !== undefined && known >= version) return;
    const reason =
      this.#failure instanceof Error ? this.#failure.message : "audiences have not taken it up yet";
    throw new NotInForce(id, reason, this.#failure);
  }

  close(): void {
    if (this.#state.kind !== "stale") return;
    for (const waiter of this.#state.waiters) waiter.reject(new Error("the collector is closing"));
  }

  #setState(state: State): void {
    this.#state = state;
  }
}

async function readDefinitions(
  config: Store["config"],
): Promise<StoredDefinitions & { readonly versions: ReadonlyMap<string, number> }> {
  const sources = await config.list<IdentifyingSource>(DOCUMENT_KINDS.source);
  const [audiences, computed] = await Promise.all([
    config.list<AudienceDocument>(AUDIENCE),
    config.list<ComputedTraitDocument>(COMPUTED_TRAIT),
  ]);
  return {
    policies: sources.map(({ id, value }) => [id, identityPolicyOf(value)]),
    definitions: [
      ...computed.map(({ id, value }): Definition => ({ id, kind: COMPUTED_TRAIT, document: value })),
      ...audiences.map(({ id, value }): Definition => ({ id, kind: AUDIENCE, document: value })),
    ],
    versions: new Map([...computed, ...audiences].map(({ id, version }) => [id, version])),
  };
}
