import type { FilterRuleView } from "@sluice/control-api";
import type { SentRange } from "@sluice/event-log";
import type { Chain } from "../../destinations/destination.js";
import type { DestinationDocument, SourceDocument } from "../../documents/documents.js";
import { chainOf, type Transformations } from "../../transformations/transformations.js";

/** As the store keeps them with a range. Secrets are sealed. */
interface Stored {
  readonly destination: unknown;
  readonly filters: readonly FilterRuleView[];
  /** By source. */
  readonly chains: { readonly [sourceId: string]: Chain };
}

/** What settings are read from. */
export interface SettingsNow {
  readonly document: Pick<DestinationDocument, "settings" | "filters" | "transformationId">;
  readonly sources: { get(id: string): SourceDocument | undefined };
  readonly transformations: Pick<Transformations, "documentOf">;
}

const NO_CHAIN: Chain = { ids: [], documents: [] };

/**
 * All settings that decide what is sent of a message: the destination's own, its filters, and its transformations in their versions. A
 * range is made with one of these, also when it is repeated after they changed.
 */
export class RangeSettings {
  readonly destination: unknown;
  readonly filters: readonly FilterRuleView[];
  readonly #chains: Map<string, Chain>;
  /** Absent if they are no longer in force. */
  readonly #now: SettingsNow | undefined;

  private constructor(stored: Stored, now?: SettingsNow) {
    this.destination = stored.destination;
    this.filters = stored.filters;
    this.#chains = new Map(Object.entries(stored.chains));
    this.#now = now;
  }

  static now(now: SettingsNow): RangeSettings {
    const { settings: destination, filters } = now.document;
    return new RangeSettings({ destination, filters, chains: {} }, now);
  }

  /** Those that a stored range is made with. */
  static of({ settings }: SentRange): RangeSettings {
    return new RangeSettings(settings as Stored);
  }

  chain(sourceId: string): Chain {
    const known = this.#chains.get(sourceId);
    if (known !== undefined || this.#now === undefined) return known ?? NO_CHAIN;
    const chain = chainNow(this.#now, sourceId);
    this.#chains.set(sourceId, chain);
    return chain;
  }

  /** Whether they are in force for messages of the source. */
  areInForce(document: SettingsNow["document"], sourceId: string): boolean {
    if (this.#now === undefined || this.#now.document !== document) return false;
    const chain = this.#chains.get(sourceId);
    if (chain === undefined) return true;
    const now = chainNow(this.#now, sourceId);
    return (
      now === chain ||
      (now.ids.length === chain.ids.length &&
        now.ids.every((id, place) => id === chain.ids[place]) &&
        now.documents.every((one, place) => one === chain.documents[place]))
    );
  }

  toJSON(): Stored {
    const chains = [...this.#chains].filter(([, { ids }]) => ids.length > 0);
    return { destination: this.destination, filters: this.filters, chains: Object.fromEntries(chains) };
  }
}

function chainNow({ document, sources, transformations }: SettingsNow, sourceId: string): Chain {
  const ids = chainOf(sources.get(sourceId), document);
  if (ids.length === 0) return NO_CHAIN;
  return { ids, documents: ids.map((id) => transformations.documentOf(id)) };
}
