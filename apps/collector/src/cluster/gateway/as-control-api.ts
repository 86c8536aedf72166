import { challengeHeaders } from "../../admin/endpoint/challenge.js";
import type { Handler, Route } from "../../http/routing/route.js";
import { answerOf, type Owners } from "./ask-owners.js";

/** The routes with the headers that the control API adds to its answers: merged from bodies, they have none. */
export function asControlApi(routes: readonly Route[]): readonly Route[] {
  return withHandlers(routes, (handler) => async (request) => {
    const answer = await handler(request);
    return {
      ...answer,
      headers: {
        "cache-control": "no-store",
        ...(answer.status === 401 ? challengeHeaders() : {}),
        ...answer.headers,
      },
    };
  });
}

/** The routes, with bodies of POST requests read only for tokens that the control partition knows: they are parsed and written again. */
export function forKnownTokens(routes: readonly Route[], owners: Owners): readonly Route[] {
  return withHandlers(routes, (handler, method) => {
    if (method !== "POST") return handler;
    return async (request) => {
      const known = await owners.ask(0, request, { method: "GET", path: "/api/v1/info" });
      if (known.status !== 200) return answerOf(known);
      request.vouch();
      return handler(request);
    };
  });
}

function withHandlers(
  routes: readonly Route[],
  change: (handler: Handler, method: string) => Handler,
): readonly Route[] {
  return routes.map((route) => ({
    ...route,
    methods: Object.fromEntries(
      Object.entries(route.methods).map(([method, handler]) => [method, change(handler, method)]),
    ),
  }));
}
