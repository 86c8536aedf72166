import type { Random } from "./random.js";
import type { World } from "./world.js";

/** How one exchange over a link ends for the side that asked. It may also never end: the other side, or the network, is silent. */
export type LinkEnd<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "cut" }
  | { readonly kind: "refused" };

/** The faults of a link, each with its probability for one exchange. */
export interface Weather {
  /** Milliseconds for one way, at least and at most. Different delays reorder requests. */
  readonly delayMs: readonly [least: number, most: number];
  /** The request vanishes: no answer, no error. */
  readonly loseRequest: number;
  /** The answer vanishes after the request was served. */
  readonly loseAnswer: number;
  /** The connection breaks before the request arrives. */
  readonly cutRequest: number;
  /** The connection breaks after the request was served. */
  readonly cutAnswer: number;
  /** The request arrives twice. */
  readonly duplicate: number;
}

export const FAIR: Weather = {
  delayMs: [0, 3],
  loseRequest: 0,
  loseAnswer: 0,
  cutRequest: 0,
  cutAnswer: 0,
  duplicate: 0,
};

/** What takes a request at the other end. `refused`: nothing listens there. `cut`: it ended before it answered. */
export type Serve<Answer extends object> = () => Promise<Answer | "refused" | "cut" | "silent">;

/** A network path between two machines. */
export class Link {
  readonly #world: World;
  readonly #random: Random;
  readonly name: string;
  readonly #onWeather: () => void;
  #weather: Weather = FAIR;

  constructor(world: World, name: string, onWeather: () => void = () => {}) {
    this.#world = world;
    this.name = name;
    this.#onWeather = onWeather;
    this.#random = world.random.fork(`link ${name}`);
  }

  get weather(): Weather {
    return this.#weather;
  }

  set weather(weather: Weather) {
    this.#weather = weather;
    this.#onWeather();
  }

  /** Begins an exchange. `onEnd` is called at most once. Returns a function that ends it without a call. */
  exchange<Answer extends object>(serve: Serve<Answer>, onEnd: (end: LinkEnd<Answer>) => void): () => void {
    const { weather } = this;
    let isOver = false;
    const end = (result: LinkEnd<Answer>): void => {
      if (isOver) return;
      isOver = true;
      onEnd(result);
    };
    const fate = this.#fate(weather);
    if (fate.duplicate) this.#world.after(this.#delay(weather), () => void serve());
    this.#world.after(this.#delay(weather), () => {
      if (fate.kind === "lose request") return;
      if (fate.kind === "cut request") end({ kind: "cut" });
      else this.#serve(serve, fate.kind, weather, end);
    });
    return () => {
      isOver = true;
    };
  }

  #serve<Answer extends object>(
    serve: Serve<Answer>,
    fate: string,
    weather: Weather,
    end: (result: LinkEnd<Answer>) => void,
  ): void {
    serve().then((answer) => {
      if (fate === "lose answer" || answer === "silent") return;
      const result: LinkEnd<Answer> =
        typeof answer === "string"
          ? { kind: answer }
          : fate === "cut answer"
            ? { kind: "cut" }
            : { kind: "answered", answer };
      this.#world.after(this.#delay(weather), () => end(result));
    });
  }

  #delay({ delayMs: [least, most] }: Weather): number {
    return this.#random.integer(least, most);
  }

  /** Draws as often in every case, so that a change of the weather does not change what comes after it. */
  #fate(weather: Weather): { readonly kind: string; readonly duplicate: boolean } {
    let share = this.#random.next();
    const duplicate = this.#random.chance(weather.duplicate);
    const kinds = [
      ["lose request", weather.loseRequest],
      ["lose answer", weather.loseAnswer],
      ["cut request", weather.cutRequest],
      ["cut answer", weather.cutAnswer],
    ] as const;
    for (const [kind, probability] of kinds) {
      if (share < probability) return { kind, duplicate };
      share -= probability;
    }
    return { kind: "fair", duplicate };
  }
}
