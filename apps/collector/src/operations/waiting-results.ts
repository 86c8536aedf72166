import { causeOf } from "@sluice/control-api";
import type { Delivery, Offset, Store } from "@sluice/event-log";
import type { LiveEvents } from "../process/telemetry/live-events.js";
import type { OperationResult } from "./operation.js";

export interface FoundResult {
  readonly result: OperationResult;
  readonly cause?: string | undefined;
}

/** Learns how deliveries that an operation started have ended. */
export interface WaitingResults {
  /** The results since the last call, of deliveries that are waited for. */
  take(): ReadonlyMap<string, FoundResult>;
  waitFor(ids: readonly string[]): void;
  /** These were not started: a result that came meanwhile is not the operation's. */
  forget(ids: readonly string[]): void;
  readonly ids: readonly string[];
  /** Looks the deliveries up that have waited longest: after a restart, or if their message was deleted. */
  lookUp(store: Store, nowMs: number): Promise<void>;
  close(): void;
}

const LOOKED_UP = 100;

export function waitingResults(
  live: Pick<LiveEvents, "subscribe">,
  before: readonly string[],
): WaitingResults {
  const waiting = new Set(before);
  let found = new Map<string, FoundResult>();
  const end = (id: string, result: FoundResult | undefined): void => {
    if (result !== undefined && waiting.delete(id)) found.set(id, result);
  };
  const close = live.subscribe((event) => {
    if (event.kind !== "outcome") return;
    const id = `${event.destinationId}.${event.offset}`;
    if (waiting.has(id)) end(id, resultOf(event));
  });
  return {
    take() {
      const taken = found;
      found = new Map();
      return taken;
    },
    waitFor(ids) {
      for (const id of ids) waiting.add(id);
    },
    forget(ids) {
      for (const id of ids) {
        waiting.delete(id);
        found.delete(id);
      }
    },
    get ids() {
      return [...waiting];
    },
    async lookUp({ consumers }, nowMs) {
      for (const id of [...waiting].slice(0, LOOKED_UP)) {
        const { destinationId, offset } = deliveryOf(id);
        const [delivery] = await consumers.outcomesOf(offset, destinationId);
        end(id, delivery === undefined ? { result: "skipped" } : storedResult(delivery, nowMs));
        // The next look-up begins with others.
        if (waiting.delete(id)) waiting.add(id);
      }
    },
    close,
  };
}

/** The parts of a delivery's id. */
export function deliveryOf(id: string): { readonly destinationId: string; readonly offset: Offset } {
  const dot = id.lastIndexOf(".");
  return { destinationId: id.slice(0, dot), offset: Number(id.slice(dot + 1)) as Offset };
}

/** Undefined while a delivery waits for its turn. */
function resultOf({ state, reason }: Pick<Delivery, "state" | "reason">): FoundResult | undefined {
  switch (state) {
    case "delivered":
    case "discarded":
      return { result: state };
    case "filtered":
    case "skipped":
    case "suppressed":
      return { result: "skipped" };
    case "failed":
      return { result: "failed", cause: causeOf(reason) ?? "other" };
    case "pending": {
      const cause = causeOf(reason);
      return cause === undefined ? undefined : { result: "failed", cause };
    }
    default:
      return state satisfies never;
  }
}

/** A pending delivery that is due was started and has no result yet. One that is due later has failed again. */
function storedResult(delivery: Delivery, nowMs: number): FoundResult | undefined {
  const isDue = delivery.state === "pending" && (delivery.nextAttemptAtMs ?? 0) <= nowMs;
  return isDue ? undefined : resultOf(delivery);
}
