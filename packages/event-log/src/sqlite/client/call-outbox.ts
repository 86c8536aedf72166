import { PendingCalls } from "@sluice/resilience/node";
import type { StorageUnavailable } from "../../ports/errors.js";
import type { Answer, OperationName, Operations } from "../calls/operations.js";
import { errorOf } from "../calls/refusal.js";
import type { SharedCall } from "../calls/sharing.js";

/** Prepares what is sent at the end of a turn of the event loop. `isLast`: nothing is sent afterwards. */
export type Prepare = (isLast: boolean) => void;

/** Sends once at the end of each turn of the event loop in which it was scheduled, without a timer. */
export class TurnEnd {
  readonly #prepare: Prepare[] = [];
  readonly #send: Prepare;
  #isScheduled = false;

  constructor(send: Prepare = () => {}) {
    this.#send = send;
  }

  /** Calls `prepare` before each sending, so that it can add calls. */
  beforeSend(prepare: Prepare): void {
    this.#prepare.push(prepare);
  }

  schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.send(false);
    });
  }

  send(isLast: boolean): void {
    for (const prepare of this.#prepare) prepare(isLast);
    this.#send(isLast);
  }
}

/** The calls to another thread: those of one turn of the event loop travel together, and each is answered by its id. */
export class CallOutbox {
  readonly turn: TurnEnd;
  readonly #pending = new PendingCalls();
  #calls: SharedCall[] = [];

  constructor(post: (calls: readonly SharedCall[], transfers: readonly ArrayBuffer[]) => void) {
    this.turn = new TurnEnd(() => {
      const calls = this.#calls;
      if (calls.length === 0) return;
      this.#calls = [];
      post(
        calls,
        calls.flatMap(({ transfer }) => transfer),
      );
    });
  }

  add<Name extends OperationName>(
    operation: Name,
    request: Operations[Name]["request"],
    transfer: readonly ArrayBuffer[],
  ): Promise<Operations[Name]["answer"]> {
    const { id, result } = this.#pending.add<Operations[Name]["answer"]>();
    this.#calls.push({ id, operation, request, transfer });
    this.turn.schedule();
    return result;
  }

  answer(answer: Answer): void {
    if (answer.kind === "done") this.#pending.resolve(answer.id, answer.answer);
    else this.#pending.reject(answer.id, errorOf(answer));
  }

  reject(id: number, error: StorageUnavailable): void {
    this.#pending.reject(id, error);
  }

  rejectAll(errorOfEach: () => StorageUnavailable): void {
    this.#calls = [];
    this.#pending.rejectAll(errorOfEach);
  }
}
