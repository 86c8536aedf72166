import type { Transferable } from "node:worker_threads";
import { PendingCalls } from "./pending-calls.js";

/**
 * Calls over a `MessagePort` or to a `Worker` of `node:worker_threads`: `portClient` on one side, `serve` on the other. Arguments and
 * results travel by structured clone, errors as data that both sides agree on, and the server may send notices by itself.
 */

/** Both ends of a channel as far as calls need it: a `MessagePort`, or a `Worker` seen from the thread that started it. */
export interface CallPort {
  postMessage(message: unknown, transfer?: readonly Transferable[]): void;
  on(event: string, listener: (value: unknown) => void): unknown;
}

/** The methods of an interface or class that can be called over a port. */
export type MethodName<Api> = {
  [Name in keyof Api]: Api[Name] extends (...args: never[]) => unknown ? Name : never;
}[keyof Api] &
  string;

type ArgumentsOf<Method> = Method extends (...args: infer Arguments) => unknown ? Arguments : never;
type ResultOf<Method> = Method extends (...args: never[]) => infer Result ? Awaited<Result> : never;

/** What crosses from the client to the server. */
interface Request {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** What crosses from the server to the client. */
type Reply<Failure, Notice> =
  | { readonly kind: "result"; readonly id: number; readonly result: unknown }
  | { readonly kind: "failure"; readonly id: number; readonly failure: Failure }
  | { readonly kind: "notice"; readonly notice: Notice };

/** The default failure of `serve` and `portClient`. */
export interface PlainFailure {
  readonly message: string;
}

/** Rejects calls whose server has ended, or whose port was closed, before it answered. */
export class PortClosed extends Error {
  override readonly name = "PortClosed";
  /**
   * Whether this was the oldest unanswered call. A server that works through its calls in order has not begun any but that one, so
   * the others can be repeated elsewhere.
   */
  readonly isOldest: boolean;

  constructor(isOldest: boolean, cause: unknown) {
    super("The thread ended before it answered the call", { cause });
    this.isOldest = isOldest;
  }
}

export interface PortClientOptions<Failure, Notice> {
  /** Makes the error that a call rejects with from the failure that the server sent. Default: an `Error` with its message. */
  readonly toError?: (failure: Failure) => Error;
  /** Called for each notice of the server. Default: notices are dropped. */
  readonly onNotice?: (notice: Notice) => void;
}

export interface PortClient<Api> {
  /** Calls with no answer yet. */
  readonly pending: number;
  /**
   * Calls a method of the server. Objects in `transfer` are moved instead of copied, so they cannot be used here any more.
   *
   * Rejects with what `toError` makes of the server's failure; with `PortClosed` once the other side has ended; with a
   * `DataCloneError` if an argument cannot be cloned.
   */
  call<Name extends MethodName<Api>>(
    method: Name,
    args: Readonly<ArgumentsOf<Api[Name]>>,
    transfer?: readonly Transferable[],
  ): Promise<ResultOf<Api[Name]>>;
}

/**
 * The calling side. It takes over the port's `message`, `error`, `exit` and `close` events; other listeners may be added beside it. An
 * uncaught error of a worker becomes the `cause` of `PortClosed`.
 */
export function portClient<Api, Failure = PlainFailure, Notice = never>(
  port: CallPort,
  options: PortClientOptions<Failure, Notice> = {},
): PortClient<Api> {
  const { toError = plainError, onNotice } = options;
  const calls = new PendingCalls();
  let isClosed = false;
  let cause: unknown;

  port.on("message", (message) => {
    const reply = message as Reply<Failure, Notice>;
    switch (reply.kind) {
      case "result":
        calls.resolve(reply.id, reply.result);
        return;
      case "failure":
        calls.reject(reply.id, toError(reply.failure));
        return;
      case "notice":
        onNotice?.(reply.notice);
        return;
      default:
        reply satisfies never;
    }
  });
  port.on("error", (error) => {
    cause = error;
  });
  const onEnd = (): void => {
    isClosed = true;
    calls.rejectAll((isOldest) => new PortClosed(isOldest, cause));
  };
  port.on("exit", onEnd);
  port.on("close", onEnd);

  return {
    get pending() {
      return calls.size;
    },
    call(method, args, transfer = []) {
      if (isClosed) return Promise.reject(new PortClosed(false, cause));
      const { id, result } = calls.add<ResultOf<Api[typeof method]>>();
      try {
        port.postMessage({ id, method, args } satisfies Request, transfer);
      } catch (error) {
        calls.reject(id, error as Error);
      }
      return result;
    },
  };
}

export interface ServeOptions<Api, Failure> {
  /** Makes plain data from what a method threw. The answer waits for it. Default: `{ message }`. */
  readonly toFailure?: (error: unknown) => Failure | Promise<Failure>;
  /** The method after whose answer the port is closed, so that the thread can end. Default: none. */
  readonly lastMethod?: MethodName<Api>;
}

export interface Server<Notice> {
  /** Sends the client something that it did not ask for. */
  notify(notice: Notice): void;
}

/**
 * The answering side: calls the methods of `api`, which may return promises. Calls start in the order in which they arrive and do not
 * wait for one another; put a serial queue in `api` where they must.
 */
export function serve<Api extends object, Failure = PlainFailure, Notice = never>(
  port: CallPort & { close(): void },
  api: Api,
  options: ServeOptions<Api, Failure> = {},
): Server<Notice> {
  const { toFailure = plainFailure, lastMethod } = options;
  const post = (reply: Reply<unknown, Notice>): void => port.postMessage(reply);

  const answer = async ({ id, method, args }: Request): Promise<void> => {
    try {
      const methods = api as { [name: string]: ((...args: readonly unknown[]) => unknown) | undefined };
      if (typeof methods[method] !== "function") throw new TypeError(`No method is called ${method}`);
      const result = await methods[method](...args);
      // Inside the `try`: a result that cannot be cloned fails its call instead of ending the thread.
      post({ kind: "result", id, result });
    } catch (error) {
      post({ kind: "failure", id, failure: await toFailure(error) });
    }
    if (method === lastMethod) port.close();
  };
  port.on("message", (message) => void answer(message as Request));

  return { notify: (notice) => post({ kind: "notice", notice }) };
}

function plainFailure(error: unknown): PlainFailure {
  return { message: error instanceof Error ? error.message : String(error) };
}

function plainError(failure: unknown): Error {
  return new Error((failure as PlainFailure).message);
}
