import { createHmac, hash } from "node:crypto";
import variant from "@jitl/quickjs-singlefile-mjs-release-sync";
import type { Clock } from "@sluice/resilience";
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
} from "quickjs-emscripten-core";
import type { TransformFailure } from "../transform.js";
import { PROGRAM } from "../vm/program.js";
import { type BatchAnswer, isStopping, type ThreadResult } from "./answer.js";
import { type Compile, type PreparedCode, prepareCode } from "./prepare-code.js";
import { LineReader, placeIn } from "./read-lines.js";

declare global {
  namespace WebAssembly {
    class Memory {
      constructor(pages: { initial: number; maximum: number });
      readonly buffer: ArrayBuffer;
    }
  }
}

interface RunnerMethods {
  readonly begin: QuickJSHandle;
  readonly next: QuickJSHandle;
  readonly take: QuickJSHandle;
}

const PAGE_BYTES = 65_536;
const FIRST_PAGES = 256;
/** Deeper recursion ends with an exception in the VM. Four times as much would end this thread's own stack before. */
const STACK_BYTES = 262_144;
/** Jobs that run before the deadline is looked at again. */
const JOBS_AT_ONCE = 1_000;
/** What a stopped run may take to hand over the results that it had. */
const HAND_OVER_MS = 100;

const STACK_FULL = "The stack is full: recursion without an end, or a message that is nested too deeply";
const LATE: TransformFailure = {
  code: "timeout",
  message: "The function took too long and was ended at the deadline",
};
const LEFT_BEHIND: TransformFailure = {
  code: "timeout",
  message: "Promises that the function left behind still ran at the deadline",
};

/** The part of the WebAssembly's surroundings that carries texts across. */
interface TextPort {
  readonly HEAPU8: Uint8Array;
  lengthBytesUTF8(text: string): number;
  stringToUTF8(text: string, at: number, size: number): number;
  UTF8ToString(at: number): string;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Lets the engine of this thread copy texts: the WebAssembly's own way goes through each character in JavaScript. */
function copyNatively(port: TextPort): void {
  port.lengthBytesUTF8 = (text) => Buffer.byteLength(text);
  port.stringToUTF8 = (text, at, size) => {
    const { written } = encoder.encodeInto(text, port.HEAPU8.subarray(at, at + size - 1));
    port.HEAPU8[at + written] = 0;
    return written;
  };
  port.UTF8ToString = (at) => decoder.decode(port.HEAPU8.subarray(at, port.HEAPU8.indexOf(0, at)));
}

/** The WebAssembly says what it thinks of its end in the answer, not on the console. */
const surroundings = (): object => ({ printErr() {}, preRun: [copyNatively] });

/** CPU time of this thread: on a busy machine, it has waited for none of it. Node.js 22 knows only the time on the clock. */
export function threadCpuMs(): number | undefined {
  if (typeof process.threadCpuUsage !== "function") return undefined;
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** How an evaluation or a call in the VM ended. */
type Outcome = { readonly value: QuickJSHandle } | { readonly failure: TransformFailure };

/** A QuickJS in a WebAssembly of its own, whose memory is capped: its own limit does not hold for all that it allocates. */
export class Vm {
  readonly #memory: WebAssembly.Memory;
  readonly #runtime: QuickJSRuntime;
  readonly context: QuickJSContext;
  readonly #clock: Clock;
  /** When code was last allowed to run, on the clock and as CPU time of this thread. */
  #begun: { readonly atMs: number; readonly cpuMs: number | undefined } = { atMs: 0, cpuMs: undefined };
  #allowedMs = Number.POSITIVE_INFINITY;
  /** Characters before the first line of the author's file. */
  shift = 0;
  /** Whether the WebAssembly itself gave up, so that nothing of it can be used any more. */
  isBroken = false;
  readonly #mostMb: number;

  private constructor(memory: WebAssembly.Memory, mostMb: number, runtime: QuickJSRuntime, clock: Clock) {
    this.#memory = memory;
    this.#mostMb = mostMb;
    this.#runtime = runtime;
    this.#clock = clock;
    runtime.setMaxStackSize(STACK_BYTES);
    runtime.setInterruptHandler(() => this.isLate);
    this.context = runtime.newContext();
  }

  static async open(memoryBytes: number, clock: Clock): Promise<Vm> {
    const wasmMemory = new WebAssembly.Memory({ initial: FIRST_PAGES, maximum: memoryBytes / PAGE_BYTES });
    const quickJs = await newQuickJSWASMModuleFromVariant(
      newVariant(variant, { wasmMemory: wasmMemory as never, emscriptenModule: surroundings() }),
    );
    return new Vm(wasmMemory, memoryBytes / 1_048_576, quickJs.newRuntime(), clock);
  }

  get memoryBytes(): number {
    return this.#memory.buffer.byteLength;
  }

  get isFull(): boolean {
    return this.memoryBytes > this.#mostMb * 786_432;
  }

  get isLate(): boolean {
    const { atMs, cpuMs } = this.#begun;
    // Asking for the CPU time takes several microseconds, and it is never more than the time on the clock.
    if (this.#clock.monotonic() - atMs <= this.#allowedMs) return false;
    return cpuMs === undefined || (threadCpuMs() as number) - cpuMs > this.#allowedMs;
  }

  /** From now on, code may run for so long. */
  allow(ms: number): void {
    this.#begun = { atMs: this.#clock.monotonic(), cpuMs: threadCpuMs() };
    this.#allowedMs = ms;
  }

  evaluate(code: string, file: string, options: { type?: "module" } = {}): Outcome {
    return this.#outcomeOf(() => this.context.evalCode(code, file, options));
  }

  call(fn: QuickJSHandle, ...args: QuickJSHandle[]): Outcome {
    return this.#outcomeOf(() => this.context.callFunction(fn, this.context.undefined, ...args));
  }

  /** Runs what promises wait for until there is nothing left. A job that is interrupted ends as a promise that is rejected. */
  runJobs(): TransformFailure | undefined {
    if (!this.#runtime.hasPendingJob()) return undefined;
    while (this.#runtime.hasPendingJob() && !this.isLate) {
      const outcome = this.#outcomeOf(() => {
        const ran = this.#runtime.executePendingJobs(JOBS_AT_ONCE);
        return ran.error === undefined ? { value: this.context.undefined } : { error: ran.error };
      });
      if ("failure" in outcome) return outcome.failure;
    }
    return this.isLate ? LATE : undefined;
  }

  #outcomeOf(run: () => { value: QuickJSHandle } | { error: QuickJSHandle }): Outcome {
    try {
      const result = run();
      if ("value" in result) return { value: result.value };
      const failure = this.#failureOf(this.context.dump(result.error));
      result.error.dispose();
      return { failure };
    } catch (error) {
      // The WebAssembly itself gave up: its state is unknown from here on.
      this.isBroken = true;
      if (error instanceof RangeError) return { failure: { code: "stack", message: STACK_FULL } };
      return { failure: { code: "crashed", message: `The sandbox ended: ${(error as Error).message}` } };
    }
  }

  #failureOf(
    error: { name?: unknown; message?: unknown; stack?: unknown } | null | undefined,
  ): TransformFailure {
    const place = placeIn(String(error?.stack ?? ""), this.shift);
    const message = String(error?.message ?? error);
    if (error?.name === "InternalError" && message === "interrupted") return { ...LATE, ...place };
    // There may be no memory for the error, or for its message.
    if (error === null || message === "out of memory" || (message === "" && this.isFull))
      return { code: "memory", message: `More than ${this.#mostMb} MB of memory were needed`, ...place };
    // The parser of JSON says so with a SyntaxError.
    if (message === "stack overflow") return { code: "stack", message: STACK_FULL, ...place };
    return { code: "bad_code", message: `${error?.name ?? "Error"}: ${message}`, ...place };
  }
}

/** Evaluates a module that does nothing. The engine's own way to compile without running answers at random for modules. */
export function compileIn(vm: Vm): Compile {
  return (source, shift) => {
    vm.shift = shift;
    const outcome = vm.evaluate(source, "transform.ts", { type: "module" });
    if ("value" in outcome) {
      outcome.value.dispose();
      return undefined;
    }
    const { code: _, ...problem } = outcome.failure;
    return problem;
  };
}

/** One transformation in a VM of its own. */
export class Sandbox {
  readonly #vm: Vm;
  readonly #methods: RunnerMethods;

  private constructor(vm: Vm, methods: RunnerMethods) {
    this.#vm = vm;
    this.#methods = methods;
  }

  /** Prepares the VM and loads the code. Nothing of the code runs yet. */
  static load(vm: Vm, code: PreparedCode, secrets: object): Sandbox | TransformFailure {
    const { context } = vm;
    vm.shift = 0;
    const program = handleOf(vm.evaluate(`(${PROGRAM})`, "sandbox"));
    const sha256 = context.newFunction("sha256", (text, isJson) =>
      context.newString(hashOf(context.getString(text), isJson !== undefined)),
    );
    const runner = handleOf(vm.call(program, sha256));
    vm.shift = code.shift;
    const module = vm.evaluate(code.source, "transform.ts", { type: "module" });
    if ("failure" in module) return module.failure;
    const make = context.getProp(module.value, "default");
    const use = context.getProp(runner, "use");
    handleOf(vm.call(use, make, context.newString(JSON.stringify(secrets)))).dispose();
    const [begin, next, take] = [
      context.getProp(runner, "begin"),
      context.getProp(runner, "next"),
      context.getProp(runner, "take"),
    ];
    return new Sandbox(vm, { begin, next, take });
  }

  get memoryBytes(): number {
    return this.#vm.memoryBytes;
  }

  /** Whether the VM must not be used for another batch. */
  isSpent = false;

  /** Runs messages within the time. */
  run(times: readonly number[], texts: readonly string[], deadlineMs: number): BatchAnswer {
    const vm = this.#vm;
    const reader = new LineReader(vm.shift, () => vm.isFull);
    vm.allow(deadlineMs);
    const lengths = texts.map(({ length }) => length);
    const batch = vm.context.newString(`${JSON.stringify([times, lengths])}\n${texts.join("")}`);
    const begun = vm.call(this.#methods.begin, batch);
    const failure = "failure" in begun ? begun.failure : this.#runAll(reader);
    const answer =
      failure === undefined ? answerOf(reader) : this.#stopped(failure, reader, "value" in begun);
    this.isSpent = answer.stopped !== undefined;
    if (!vm.isBroken) batch.dispose();
    return answer;
  }

  #stopped(failure: TransformFailure, reader: LineReader, hasBegun: boolean): BatchAnswer {
    // All messages have a result: any of them may have left the jobs behind.
    if (failure === LEFT_BEHIND) return { done: [], stopped: { failure, logs: [], isKnown: false } };
    this.#vm.allow(HAND_OVER_MS);
    const isKnown = hasBegun && !this.#vm.isBroken && this.#read(this.#methods.take, reader) === "F";
    const { done, stopped } = answerOf(reader);
    return { done, stopped: stopped ?? { failure, logs: reader.logs, isKnown } };
  }

  #runAll(reader: LineReader): TransformFailure | undefined {
    for (;;) {
      const state = this.#read(this.#methods.next, reader);
      if (typeof state !== "string") return state;
      if (state === "F") continue;
      const failure = this.#vm.runJobs();
      if (state === "D") return failure === LATE ? LEFT_BEHIND : failure;
      if (failure !== undefined) return failure;
    }
  }

  #read(method: QuickJSHandle, reader: LineReader): string | TransformFailure {
    const outcome = this.#vm.call(method);
    if ("failure" in outcome) return outcome.failure;
    const text = this.#vm.context.getString(outcome.value);
    outcome.value.dispose();
    reader.read(text.slice(1));
    return text[0] as string;
  }
}

/** Messages behind one that used up the memory are tried again elsewhere, as after a stop. */
function answerOf({ done }: LineReader): BatchAnswer {
  const at = done.findIndex((one) => typeof one !== "string" && one.kind === "failed" && isStopping(one));
  if (at < 0) return { done };
  const { logs, kind: _, ...failure } = done[at] as Extract<ThreadResult, { readonly kind: "failed" }>;
  return { done: done.slice(0, at), stopped: { failure, logs, isKnown: true } };
}

function hashOf(given: string, isJson: boolean): string {
  const [text, key] = isJson ? (JSON.parse(given) as [string, string?]) : [given];
  return key === undefined ? hash("sha256", text) : createHmac("sha256", key).update(text).digest("hex");
}

/** The value of code of ours. */
function handleOf(outcome: Outcome): QuickJSHandle {
  if ("value" in outcome) return outcome.value;
  throw new Error(`The sandbox cannot be prepared: ${outcome.failure.message}`);
}

/** Opens a VM and loads the code, or says why it cannot. */
export async function openSandbox(
  { code, language, secrets }: { code: string; language: "typescript" | "javascript"; secrets: object },
  memoryBytes: number,
  clock: Clock,
): Promise<Sandbox | TransformFailure> {
  const vm = await Vm.open(memoryBytes, clock);
  const prepared = prepareCode(code, language, compileIn(vm));
  if (prepared.ok) return Sandbox.load(vm, prepared, secrets);
  const { ok: _, ...problem } = prepared;
  return { code: "bad_code", ...problem };
}
