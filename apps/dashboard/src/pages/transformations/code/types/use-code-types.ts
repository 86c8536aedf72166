import { useEffect, useMemo, useState } from "react";
import { authorModules } from "./author-modules.js";
import type { Hover, Member, Mistake } from "./checked-code.js";
import type { TypesRequest } from "./types-worker.js";

/** So long after the last key, the code is checked. */
const REST_MS = 200;

/** The questions of `CodeTypes`, whose answers come later. Undefined: nobody knows. */
export interface AskedTypes {
  hover(code: string, at: number): Promise<Hover | undefined>;
  members(code: string, at: number): Promise<readonly Member[] | undefined>;
}

type Question = TypesRequest extends infer One ? (One extends unknown ? Omit<One, "id"> : never) : never;

/** The worker, started by the first question and ended with the page. */
class TypesClient implements AskedTypes {
  readonly #waiting = new Map<number, (answer: never) => void>();
  #worker: Worker | undefined;
  #asked = 0;

  ask<Answer>(question: Question): Promise<Answer | undefined> {
    this.#worker ??= this.#start();
    this.#asked += 1;
    const id = this.#asked;
    this.#worker.postMessage({ ...question, id });
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  hover(code: string, at: number): Promise<Hover | undefined> {
    return this.ask({ ask: "hover", code, at });
  }

  members(code: string, at: number): Promise<readonly Member[] | undefined> {
    return this.ask({ ask: "members", code, at });
  }

  end(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
    for (const resolve of this.#waiting.values()) resolve(undefined as never);
    this.#waiting.clear();
  }

  #start(): Worker {
    const worker = new Worker(new URL("./types-worker.ts", import.meta.url), { type: "module" });
    worker.addEventListener("message", ({ data: { id, answer } }: MessageEvent) => {
      this.#waiting.get(id)?.(answer as never);
      this.#waiting.delete(id);
    });
    return worker;
  }
}

/** The types of TypeScript as it is typed, with the messages of tracking plans. JavaScript has none. */
export function useCodeTypes(
  code: string,
  isTypescript: boolean,
  plans: readonly unknown[],
): { readonly types: AskedTypes; readonly mistakes: readonly Mistake[] } {
  const client = useMemo(() => new TypesClient(), []);
  useEffect(() => () => client.end(), [client]);
  const [found, setFound] = useState<{ readonly code: string; readonly mistakes: readonly Mistake[] }>();
  const known = JSON.stringify(plans);
  useEffect(() => {
    if (isTypescript) void client.ask({ ask: "modules", modules: authorModules(JSON.parse(known)) });
  }, [client, known, isTypescript]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: other plans find other mistakes
  useEffect(() => {
    if (!isTypescript) return;
    const timer = setTimeout(async () => {
      const mistakes = await client.ask<readonly Mistake[]>({ ask: "mistakes", code });
      if (mistakes !== undefined) setFound({ code, mistakes });
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [client, code, known, isTypescript]);
  const isCurrent = isTypescript && found?.code === code;
  return { types: client, mistakes: isCurrent ? found.mistakes : NONE };
}

const NONE: readonly Mistake[] = [];
