import type { ServedAnswer, ServedRequest } from "./memory-server.js";

/** The token of the control API in every simulated collector. */
export const ADMIN_TOKEN = "slt_simulated_administrator_of_the_world";

type Serve = (request: ServedRequest) => Promise<ServedAnswer | "refused" | "cut">;

/** Calls the control API. Rejects unless the answer is 2xx. */
export async function callApi(serve: Serve, method: string, path: string, body?: object): Promise<unknown> {
  const answer = await serve({
    method,
    path: `/api/v1${path}`,
    headers: { authorization: `Bearer ${ADMIN_TOKEN}`, host: "127.0.0.1" },
    body: Buffer.from(body === undefined ? "" : JSON.stringify(body)),
  });
  if (typeof answer === "string" || answer.status >= 300)
    throw new ApiError(`${method} ${path}`, typeof answer === "string" ? answer : answer);
  return answer.body === "" ? undefined : JSON.parse(answer.body);
}

/** What `/metrics` shows, by name and labels. */
export async function readMetrics(serve: Serve): Promise<Map<string, number>> {
  const answer = await serve({ method: "GET", path: "/metrics", headers: {}, body: new Uint8Array() });
  if (typeof answer === "string") throw new ApiError("GET /metrics", answer);
  return new Map(
    answer.body.split("\n").flatMap((line) => {
      const [, name, value] = /^([^#].*) (\S+)$/.exec(line) ?? [];
      return name === undefined ? [] : [[name, Number(value)] as const];
    }),
  );
}

/** A call of the control API that was refused, or that a crash left without an answer. */
export class ApiError extends Error {
  readonly answer: ServedAnswer | "refused" | "cut";

  constructor(call: string, answer: ServedAnswer | "refused" | "cut") {
    super(`${call}: ${typeof answer === "string" ? answer : `${answer.status} ${answer.body}`}`);
    this.answer = answer;
  }
}
