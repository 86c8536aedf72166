import type { Clock } from "@sluice/resilience";
import type { CodeCheck, TransformCode, TransformFailure, TransformLanguage } from "../transform.js";
import type { BatchAnswer } from "./answer.js";
import { prepareCode } from "./prepare-code.js";
import { compileIn, openSandbox, Sandbox, threadCpuMs, Vm } from "./sandbox.js";

export interface SandboxThreadOptions {
  /** Of each VM. */
  readonly memoryBytes: number;
  /** VMs that are kept. The one that was used the longest time ago goes first. */
  readonly maxSandboxes: number;
}

export interface BatchRequest {
  readonly code: TransformCode;
  readonly times: readonly number[];
  readonly texts: readonly string[];
  readonly deadlineMs: number;
}

export interface ThreadAnswer extends BatchAnswer {
  /** All that the thread's VMs have taken. */
  readonly memoryBytes: number;
  readonly sandboxes: number;
}

/** Sent when a VM begins to run: the CPU time of the thread by then. Node.js 22 does not know it. */
export type RunNotice = number | undefined;

/** A VM that has grown beyond this is not kept: WebAssembly never gives memory back. */
const KEPT_BYTES = 20 * 1_024 * 1_024;

/** What the thread answers. Its caller sends the next request when the one before is answered. */
export class SandboxThread {
  readonly #options: SandboxThreadOptions;
  readonly #clock: Clock;
  readonly #onRun: (beforeMs: RunNotice) => void;
  readonly #sandboxes = new Map<string, Sandbox | TransformFailure>();

  constructor(options: SandboxThreadOptions, clock: Clock, onRun: (beforeMs: RunNotice) => void) {
    this.#options = options;
    this.#clock = clock;
    this.#onRun = onRun;
  }

  async run({ code, times, texts, deadlineMs }: BatchRequest): Promise<ThreadAnswer> {
    const sandbox = await this.#sandboxFor(code);
    if (!(sandbox instanceof Sandbox)) {
      const done = texts.map(() => ({ kind: "failed" as const, ...sandbox, logs: [] }));
      return { done, ...this.#taken };
    }
    this.#onRun(threadCpuMs());
    const answer = sandbox.run(times, texts, deadlineMs);
    if (sandbox.isSpent || sandbox.memoryBytes > KEPT_BYTES) this.#sandboxes.delete(code.key);
    return { ...answer, ...this.#taken };
  }

  async check(code: string, language: TransformLanguage): Promise<CodeCheck> {
    const vm = await Vm.open(this.#options.memoryBytes, this.#clock);
    this.#onRun(threadCpuMs());
    const prepared = prepareCode(code, language, compileIn(vm));
    return prepared.ok ? { ok: true } : prepared;
  }

  get #taken(): { memoryBytes: number; sandboxes: number } {
    let memoryBytes = 0;
    for (const one of this.#sandboxes.values()) memoryBytes += one instanceof Sandbox ? one.memoryBytes : 0;
    return { memoryBytes, sandboxes: this.#sandboxes.size };
  }

  async #sandboxFor(code: TransformCode): Promise<Sandbox | TransformFailure> {
    const found =
      this.#sandboxes.get(code.key) ?? (await openSandbox(code, this.#options.memoryBytes, this.#clock));
    // Moves it to the end.
    this.#sandboxes.delete(code.key);
    this.#sandboxes.set(code.key, found);
    for (const oldest of this.#sandboxes.keys()) {
      if (this.#sandboxes.size <= this.#options.maxSandboxes) break;
      this.#sandboxes.delete(oldest);
    }
    return found;
  }
}
