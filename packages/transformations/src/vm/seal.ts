/**
 * Functions whose text runs inside of the VM, before the user's code: they take away whatever would give a message another result
 * tomorrow than today. Each stands alone, because only its text travels: it may use nothing but its arguments and the VM's globals.
 */

/** Makes `Date` read the time of the message. Answers what sets it. */
export function replaceTime(): (ms: number) => void {
  const Native = Date;
  let nowMs = 0;
  function SandboxDate(this: unknown, ...args: []): unknown {
    if (new.target === undefined) return new Native(nowMs).toString();
    return Reflect.construct(Native, args.length === 0 ? [nowMs] : args, new.target);
  }
  const hidden = (value: unknown) => ({ value, writable: true, enumerable: false, configurable: true });
  Object.defineProperties(SandboxDate, {
    name: hidden("Date"),
    length: hidden(7),
    prototype: { value: Native.prototype, writable: false },
    parse: hidden(Native.parse),
    UTC: hidden(Native.UTC),
    now: hidden(() => nowMs),
  });
  Object.defineProperty(Native.prototype, "constructor", hidden(SandboxDate));
  Object.defineProperty(globalThis, "Date", hidden(SandboxDate));
  return (ms) => {
    nowMs = ms;
  };
}

/** Takes chance away, and making code from text. */
export function replaceChanceAndEval(): void {
  const refuse = (message: string) =>
    function refused(): never {
      throw new TypeError(message);
    };
  const noChance = refuse(
    "Math.random is not available: a message must have the same result each time. Use sha256 of one of its fields",
  );
  Object.defineProperty(Math, "random", { value: noChance });
  const noCode = refuse("Code cannot be made from text in a transformation");
  Object.defineProperty(noCode, "prototype", { value: Function.prototype });
  const kinds = [() => {}, async () => {}, function* () {}, async function* () {}];
  for (const kind of kinds)
    Object.defineProperty(Object.getPrototypeOf(kind), "constructor", { value: noCode });
  Object.defineProperty(globalThis, "Function", { value: noCode });
}

/** Deletes every global that is not in the list: a later engine adds none unseen. */
export function keepGlobals(allowed: readonly string[]): void {
  for (const name of Reflect.ownKeys(globalThis))
    if (typeof name !== "string" || !allowed.includes(name)) Reflect.deleteProperty(globalThis, name);
}

/**
 * Lets objects have fields such as `toString` or `name` of their own: without these setters, a frozen prototype with such a field would
 * refuse them.
 */
export function allowOwnFields(): void {
  const settable = (holder: object, name: PropertyKey): void => {
    const { value } = Reflect.getOwnPropertyDescriptor(holder, name) as PropertyDescriptor;
    Reflect.defineProperty(holder, name, {
      get: () => value,
      set(this: object, own) {
        if (this === holder) throw new TypeError(`${String(name)} is read-only`);
        const field = { value: own, writable: true, enumerable: true, configurable: true };
        Reflect.defineProperty(this, name, field);
      },
      enumerable: false,
    });
  };
  const errors = [
    Error,
    EvalError,
    RangeError,
    ReferenceError,
    SyntaxError,
    TypeError,
    URIError,
    AggregateError,
  ];
  for (const holder of [Object.prototype, ...errors.map((one) => one.prototype)])
    for (const name of Reflect.ownKeys(holder)) if (name !== "__proto__") settable(holder, name);
}

/** Freezes everything that can be reached without the author's code, so that no message can leave anything behind for the next one. */
export function freezeEverything(): void {
  const { Iterator } = globalThis as unknown as {
    Iterator: { from(one: object): { map(fn: () => 0): object } };
  };
  const wrapped = Iterator.from({ next: () => ({ done: true }) });
  const unnamed = [
    ...[[].values(), new Map().entries(), new Set().values(), ""[Symbol.iterator](), "a".matchAll(/a/g)],
    ...[async () => {}, (function* () {})(), (async function* () {})(), wrapped, wrapped.map(() => 0)],
  ];
  const queue: unknown[] = [globalThis, ...unnamed];
  const seen = new Set<unknown>([undefined, null]);
  while (queue.length > 0) {
    const next = queue.pop();
    if ((typeof next !== "object" && typeof next !== "function") || seen.has(next)) continue;
    seen.add(next);
    const holder = next as object;
    queue.push(Reflect.getPrototypeOf(holder));
    for (const name of Reflect.ownKeys(holder)) {
      const { value, get, set } = Reflect.getOwnPropertyDescriptor(holder, name) as PropertyDescriptor;
      queue.push(value, get, set);
    }
    Object.freeze(holder);
  }
}
