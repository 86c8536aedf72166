import type { DefinedDestination } from "@sluice/destination";
import type { Exchange, OpenEndpoint } from "../../../apps/collector/src/sender/endpoint.js";
import { FAIR, Link, type LinkEnd } from "../world/link.js";
import type { Random } from "../world/random.js";
import { Spells } from "../world/spells.js";
import type { World } from "../world/world.js";
import type { History, Post } from "./history.js";

/** How a receiver behaves. */
export type Behaviour =
  | { readonly kind: "takes" }
  /** Answers a share of the requests with a status, and takes the others. */
  | {
      readonly kind: "answers";
      readonly status: number;
      readonly share: number;
      readonly retryAfter?: string;
    }
  /** Takes the request and never answers. */
  | { readonly kind: "silent" }
  /** Takes the request and answers after a while. */
  | { readonly kind: "slow"; readonly ms: number }
  /** Nothing listens. */
  | { readonly kind: "down" };

/** A webhook. */
class Receiver {
  /** It keeps its behaviour to the end. */
  isDead = false;
  readonly link: Link;
  readonly random: Random;
  /** When it took everything, and the network to it was fair. */
  readonly spells = new Spells();
  readonly #world: World;
  #behaviour: Behaviour = { kind: "takes" };

  constructor(world: World, url: string) {
    this.#world = world;
    this.link = new Link(world, url, () => this.#changed());
    this.random = world.random.fork(`receiver ${url}`);
  }

  get behaviour(): Behaviour {
    return this.#behaviour;
  }

  set behaviour(behaviour: Behaviour) {
    this.#behaviour = behaviour;
    this.#changed();
  }

  #changed(): void {
    this.spells.note(this.#world.elapsedMs, this.#behaviour.kind === "takes" && this.link.weather === FAIR);
  }
}

interface Answer {
  readonly status: number;
  readonly retryAfter?: string;
}

type EndPost = (exchange: Exchange, what: string) => void;

/** All webhooks of the world, by URL. Each has a network path of its own. */
export class Receivers {
  /** Makes the type of a destination with batches, for a process of the collector. Absent: there is none. */
  batches: ((run: number, isAlive: () => boolean) => DefinedDestination) | undefined;
  readonly #world: World;
  readonly #history: History;
  readonly #receivers = new Map<string, Receiver>();

  constructor(world: World, history: History) {
    this.#world = world;
    this.#history = history;
  }

  of(url: string): Receiver {
    const known = this.#receivers.get(url);
    if (known !== undefined) return known;
    const added = new Receiver(this.#world, url);
    this.#receivers.set(url, added);
    return added;
  }

  all(): readonly Receiver[] {
    return [...this.#receivers.values()];
  }

  /** What a process of the collector opens instead of connections. */
  endpointsOf(run: number, isAlive: () => boolean): OpenEndpoint {
    return ({ url, clock, timeoutMs }) => {
      const pending = new Set<() => void>();
      return {
        post: (headers) =>
          new Promise((resolve) => {
            const startedAtMs = clock.monotonic();
            const post = postOf(url, headers, {
              run,
              deaths: this.#history.deaths.length,
              atMs: this.#world.elapsedMs,
              monotonicMs: startedAtMs,
            });
            this.#history.posts.push(post);
            this.#world.note(`post ${url} ${post.messageId} #${post.attempt}`);
            const end: EndPost = (exchange, what) => {
              if (!pending.delete(abort)) return;
              cancelTimeout();
              stop();
              if (!isAlive()) return;
              const { retryAfter } = exchange.kind === "answered" ? exchange : { retryAfter: undefined };
              post.ended = { atMs: this.#world.elapsedMs, what, retryAfter };
              resolve(exchange);
            };
            const fail = (code: "timeout" | "aborted" | "connection_lost" | "connection_refused"): void =>
              end(
                {
                  kind: "failed",
                  failure: { code, message: `simulated: ${code}` },
                  latencyMs: clock.monotonic() - startedAtMs,
                },
                code,
              );
            const abort = (): void => fail("aborted");
            pending.add(abort);
            const cancelTimeout = clock.after(timeoutMs, () => fail("timeout"));
            const stop = this.of(url).link.exchange<Answer>(
              () => this.#receive(url, post),
              (ended) => this.#answered(ended, clock.monotonic() - startedAtMs, end, fail),
            );
          }),
        async close() {
          for (const abort of [...pending]) abort();
        },
      };
    };
  }

  #answered(
    ended: LinkEnd<Answer>,
    latencyMs: number,
    end: EndPost,
    fail: (code: "connection_lost" | "connection_refused") => void,
  ): void {
    if (ended.kind === "cut") fail("connection_lost");
    else if (ended.kind === "refused") fail("connection_refused");
    else {
      const { status, retryAfter } = ended.answer;
      const headers = status < 300 ? {} : { headers: [] };
      const wait = retryAfter === undefined ? {} : { retryAfter };
      end({ kind: "answered", status, ...wait, ...headers, body: "", latencyMs }, String(status));
    }
  }

  async #receive(url: string, post: Post): Promise<Answer | "refused" | "silent"> {
    const { behaviour, random } = this.of(url);
    if (behaviour.kind === "down") return "refused";
    post.arrivedAtMs = this.#world.elapsedMs;
    const refuses = behaviour.kind === "answers" && random.chance(behaviour.share);
    post.accepted = post.accepted === true || !refuses;
    if (behaviour.kind === "silent") return "silent";
    if (behaviour.kind === "slow")
      await new Promise<void>((resolve) => this.#world.after(behaviour.ms, resolve));
    if (!refuses) return { status: 200 };
    const { status, retryAfter } = behaviour;
    return { status, ...(retryAfter === undefined ? {} : { retryAfter }) };
  }
}

function postOf(
  url: string,
  headerList: readonly string[],
  when: Pick<Post, "run" | "deaths" | "atMs" | "monotonicMs">,
): Post {
  const headers = new Map<string, string>();
  for (let i = 0; i + 1 < headerList.length; i += 2)
    headers.set(String(headerList[i]).toLowerCase(), String(headerList[i + 1]));
  return {
    ...when,
    url,
    messageId: headers.get("x-message-id") ?? "",
    attempt: Number(headers.get("x-attempt")),
  };
}
