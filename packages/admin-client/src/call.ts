import type { AnswerOf, BodyOf, EndpointKey, ParamsOf, QueryOf } from "@sluice/control-api";
import { type AdminClientOptions, send } from "./request.js";

/** An object whose optional fields may also be undefined. */
export type Loose<T> = {
  readonly [K in keyof T]: T[K] | (Record<never, never> extends Pick<T, K> ? undefined : never);
};

/** The input of an endpoint: its path's parameters, query and body, as far as it has them. */
type CallInput<K extends EndpointKey> = Given<"params", ParamsOf<K>> &
  Given<"query", Loose<QueryOf<K>>> &
  (BodyOf<K> extends undefined ? unknown : { readonly body: BodyOf<K> }) & {
    readonly signal?: AbortSignal | undefined;
  };
type Given<Name extends string, Fields> = [keyof Fields] extends [never]
  ? unknown
  : { readonly [N in Name]: Fields };

interface AnyInput {
  readonly params?: { readonly [name: string]: string };
  readonly query?: { readonly [name: string]: string | number | boolean | undefined };
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** Calls an endpoint by its key, such as `GET /sources/:id`. Its input and answer are typed by the control API's table. */
export type Call = <K extends EndpointKey>(key: K, input: CallInput<K>) => Promise<AnswerOf<K>>;

export function caller(options: AdminClientOptions): Call {
  return async <K extends EndpointKey>(key: K, input: CallInput<K>): Promise<AnswerOf<K>> => {
    const { params = {}, ...request } = input as AnyInput;
    const space = key.indexOf(" ");
    const path = key
      .slice(space + 1)
      .replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
    const response = await send(options, key.slice(0, space), path, request);
    return (response.status === 204 ? undefined : await response.json()) as AnswerOf<K>;
  };
}
