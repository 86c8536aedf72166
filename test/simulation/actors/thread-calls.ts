import { type EntryCall, outcomesIn } from "../model/log-entries.js";
import type { Disk } from "../world/disk.js";
import type { SimulatedPort } from "../world/ports.js";
import type { World } from "../world/world.js";
import type { History } from "./history.js";
import { noteSettlement } from "./log-observer.js";

interface Call extends EntryCall {
  readonly id: number;
}

type Message =
  | { readonly kind: "calls"; readonly calls: readonly Call[] }
  | { readonly kind: "answers"; readonly answers: readonly Answer[] }
  | { readonly kind: "failed" };

interface Answer {
  readonly id: number;
  readonly kind: "done" | "refused";
  readonly answer?: { readonly isHandedBack?: true };
}

const WRITES = new Set([
  "append",
  "settle",
  "requeue",
  "retryNow",
  "consumers.open",
  "consumers.remove",
  "reject",
]);

/** Notes what a thread of the collector stores over a port of its own, and refuses its writes while the disk fails. */
export function observeCalls(
  port: SimulatedPort,
  { world, history, disk }: { readonly world: World; readonly history: History; readonly disk: Disk },
): void {
  const open = new Map<number, Call>();
  port.isOfStore();
  port.onArriving = (arriving) => {
    const message = arriving as Message;
    if (message.kind !== "calls") return true;
    for (const call of message.calls)
      if (call.operation === "settle" || call.operation === "append") open.set(call.id, call);
    const refused = disk.health.fails ? message.calls.filter(({ operation }) => WRITES.has(operation)) : [];
    if (refused.length === 0) return true;
    const refusal = { kind: "refused", code: "storage_unavailable", detail: "the simulated disk fails" };
    port.postMessage({ kind: "answers", answers: refused.map(({ id }) => ({ id, ...refusal })), stats: {} });
    const calls = message.calls.filter((call) => !refused.includes(call));
    if (calls.length > 0) port.emit("message", { kind: "calls", calls });
    return false;
  };
  port.onSending = (sending) => {
    const message = sending as Message;
    if (message.kind !== "answers") return;
    for (const { id, kind, answer } of message.answers) {
      const call = open.get(id);
      open.delete(id);
      if (call === undefined || kind !== "done") continue;
      const atMs = world.elapsedMs;
      if (call.operation === "settle") {
        world.note(`a thread settles ${outcomesIn(call).length} at ${String(call.request.consumerId)}`);
        noteSettlement(history, call, history.runs.length, atMs);
      }
      if (call.operation === "append" && answer?.isHandedBack !== true)
        history.written.push({ text: textOf(call), atMs });
    }
  };
}

/** All bytes of an append. Those of ids that the collector made have no quotes. */
function textOf({ request }: Call): string {
  const { bodies, extras } = request as Record<"bodies" | "extras", Uint8Array>;
  const made =
    Buffer.from(extras)
      .toString("latin1")
      .match(/[\w-]+/g) ?? [];
  return Buffer.from(bodies).toString("latin1") + JSON.stringify(made);
}
