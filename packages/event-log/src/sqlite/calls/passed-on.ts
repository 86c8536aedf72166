import {
  CALLS,
  type OperationName,
  type Operations,
  type PassedName,
  type PassedPorts,
} from "./operations.js";

/** The methods of a port that are passed on to the store's thread: each gives its name and its arguments to `call`. */
export function passedOn<Port extends keyof PassedPorts>(
  port: Port,
  call: (operation: PassedName<Port>, args: never) => Promise<unknown>,
): PassedPorts[Port] {
  const methods = namesOf(port).map(([operation, method]) => [
    method,
    async (...args: readonly unknown[]) => call(operation, args as never),
  ]);
  // `PassedPorts` ties each method to its name, but the compiler cannot follow that here.
  return Object.fromEntries(methods) as PassedPorts[Port];
}

/** A port's methods, answered by the methods of `target`, whose results are no promises. */
export type Answering<Port extends keyof PassedPorts> = {
  readonly [Method in keyof PassedPorts[Port]]: PassedPorts[Port][Method] extends (
    ...args: infer Arguments
  ) => Promise<infer Answer>
    ? (...args: Arguments) => Answer
    : never;
};

/** The handlers of the calls that `passedOn` makes. */
export function answeredBy<Port extends keyof PassedPorts>(
  port: Port,
  target: () => Answering<Port>,
): {
  readonly [Name in PassedName<Port>]: (
    args: Operations[Name & OperationName]["request"],
  ) => Operations[Name & OperationName]["answer"];
} {
  const handlers = namesOf(port).map(([operation, method]) => [
    operation,
    (args: readonly unknown[]) =>
      (target() as Record<string, (...args: readonly unknown[]) => unknown>)[method]?.(...args),
  ]);
  return Object.fromEntries(handlers) as ReturnType<typeof answeredBy<Port>>;
}

function namesOf<Port extends keyof PassedPorts>(
  port: Port,
): [operation: PassedName<Port>, method: string][] {
  return Object.keys(CALLS)
    .filter((operation) => operation.startsWith(`${port}.`))
    .map((operation) => [operation as PassedName<Port>, operation.slice(port.length + 1)]);
}
