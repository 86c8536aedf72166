import { type DefinedDestination, type DeliveryResult, defineDestination } from "@sluice/destination";
import type { Random } from "../world/random.js";
import type { World } from "../world/world.js";

/** How the warehouse answers batches. */
export type WarehouseBehaviour =
  /** It takes everything. */
  | { readonly kind: "takes" }
  /** It answers singly: takes some messages, refuses some, and asks for some later. */
  | { readonly kind: "sorts" }
  /** It takes nothing. */
  | { readonly kind: "down"; readonly retryAfterMs?: number }
  /** It takes everything, and its answer is lost. */
  | { readonly kind: "loses answers" }
  /** The collector ends before the answer. Then it takes everything for a while. */
  | { readonly kind: "sees a crash" };

/** A message of a batch, as the warehouse got it. */
export interface Row {
  readonly messageId: string;
  readonly position: number;
  readonly text: string;
}

/** One attempt at a batch. */
export interface BatchAttempt {
  readonly id: string;
  readonly range: { readonly from: number; readonly to: number };
  readonly rows: readonly Row[];
  /** What the settings said. */
  readonly place: string;
  readonly run: number;
  readonly atMs: number;
  /** What the collector heard of each row, in their order. Absent: no answer arrived. */
  answer?: {
    readonly atMs: number;
    readonly kinds: readonly DeliveryResult["kind"][];
    readonly isWhole: boolean;
  };
}

/** The part of the results that a warehouse which answers singly does not take. */
const REFUSED_SHARE = 0.2;
const LATER_SHARE = 0.3;
const SLOWEST_MS = 20;

/** A destination of a package, which gets batches. */
export class Warehouse {
  readonly attempts: BatchAttempt[] = [];
  behaviour: WarehouseBehaviour = { kind: "takes" };
  /** Ends the collector. */
  onCrash: () => void = () => {};
  readonly #world: World;
  readonly #random: Random;

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random.fork("warehouse");
  }

  /** The type, for a process of the collector. */
  typeFor(
    run: number,
    isAlive: () => boolean,
    batch: { maxMessages: number; maxAgeMs: number },
  ): DefinedDestination {
    return defineDestination<{ place: string }>({
      type: "warehouse",
      name: "Warehouse",
      settings: {
        type: "object",
        additionalProperties: false,
        properties: { place: { type: "string", title: "Place", default: "a" } },
      },
      batch: () => batch,
      open: ({ place }) => ({
        deliverBatch: ({ id, range, messages }) => {
          const rows = messages.map(({ id: messageId, position, payload }) => ({
            ...{ messageId, position, text: JSON.stringify(payload) },
          }));
          const attempt: BatchAttempt = { id, range, rows, place, run, atMs: this.#world.elapsedMs };
          this.attempts.push(attempt);
          this.#world.note(`batch ${id} of ${rows.length} to ${place}`);
          return new Promise((resolve) => {
            const answer = this.#answer(attempt);
            if (answer === undefined) return;
            this.#world.after(this.#random.integer(1, SLOWEST_MS), () => {
              if (!isAlive()) return;
              attempt.answer = {
                atMs: this.#world.elapsedMs,
                kinds: rows.map(
                  (_, at) => answer.others?.find(({ index }) => index === at)?.result.kind ?? answer.kind,
                ),
                isWhole: answer.others === undefined && answer.kind === "retry",
              };
              resolve(answer);
            });
          });
        },
      }),
    }) as DefinedDestination;
  }

  #answer({ rows }: BatchAttempt) {
    const { behaviour } = this;
    switch (behaviour.kind) {
      case "takes":
        return TAKEN;
      case "sorts":
        return { ...TAKEN, others: rows.flatMap((_, index) => this.#sorted(index) ?? []) };
      case "down": {
        const { retryAfterMs } = behaviour;
        return {
          kind: "retry" as const,
          reason: "down",
          ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
        };
      }
      case "sees a crash":
        this.behaviour = { kind: "takes" };
        this.#world.after(1, this.onCrash);
        return undefined;
      case "loses answers":
        return undefined;
      default:
        return behaviour satisfies never;
    }
  }

  #sorted(index: number): { readonly index: number; readonly result: DeliveryResult } | undefined {
    const share = this.#random.next();
    if (share < REFUSED_SHARE) return { index, result: { kind: "failed", reason: "refused" } };
    if (share < REFUSED_SHARE + LATER_SHARE)
      return { index, result: { kind: "retry", reason: "later", isReachable: true } };
    return undefined;
  }
}

const TAKEN: DeliveryResult & { readonly others?: { index: number; result: DeliveryResult }[] } = {
  kind: "delivered",
  reason: "taken",
};
