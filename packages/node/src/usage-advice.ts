/** Prints one line about a call or an option that has no effect. Each topic is printed once a client. */
export type Advise = (topic: string, text: string) => void;

/** Advice is for development: nothing is printed with `NODE_ENV=production`, or if `isQuiet`. */
export function usageAdvice(isQuiet: boolean): Advise {
  if (isQuiet || isProduction()) return () => {};
  const told = new Set<string>();
  return (topic, text) => {
    if (told.has(topic)) return;
    told.add(topic);
    console.error(`[sluice] ${text}`);
  };
}

function isProduction(): boolean {
  try {
    return process.env.NODE_ENV === "production";
  } catch {
    // The runtime has no environment variables, or does not allow reading them.
    return false;
  }
}

/** Options of other clients, and what to use instead. */
const FOREIGN_OPTIONS: Readonly<Record<string, string>> = {
  // Segment
  flushInterval: "`flushAfter`",
  maxEventsInBatch: "`flushAt`",
  httpRequestTimeout: "`requestTimeoutMs`",
  httpClient: "`fetch` or `transport`",
  oauthSettings: "`writeKey`",
  maxTotalBackoffDuration: "`maxTotalRetryMs`, in milliseconds",
  maxRateLimitDuration: "`maxTotalRetryMs`, in milliseconds",
  path: "`host`, which may have a path",
  // RudderStack
  dataPlaneUrl: "`host`",
  maxInternalQueueSize: "`maxQueueSize`",
  retryCount: "`maxRetries`",
  errorHandler: "`onError`",
  enable: "`disable`",
  timeout: "`requestTimeoutMs`",
  logLevel: "the environment variable `DEBUG=analytics`",
  axiosConfig: "`transport`",
  axiosInstance: "`transport`",
  axiosRetryConfig: "`maxRetries` and `maxTotalRetryMs`",
  // PostHog
  before_send: "`beforeSend`",
  disabled: "`disable`",
  defaultOptIn: "`disable`",
  maxBatchSize: "`batchSize`",
  requestTimeout: "`requestTimeoutMs`",
  fetchRetryCount: "`maxRetries`",
};

/** Points out options of other clients, which have no effect here. */
export function adviseOnOptions(options: object, advise: Advise): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(FOREIGN_OPTIONS, name))
      advise(`option ${name}`, `The option \`${name}\` has no effect: use ${FOREIGN_OPTIONS[name]}.`);
  }
}

const EVENTS: ReadonlySet<unknown> = new Set(["delivered", "failed", "refused", "request"]);

/** Points out a listener that is never called. */
export function adviseOnEvent(name: unknown, advise: Advise): void {
  if (EVENTS.has(name)) return;
  const shown = typeof name === "string" ? JSON.stringify(name) : typeof name;
  const text = `on(${shown}) is never called: the events are delivered, failed, refused and request. For losses, set \`onError\`.`;
  advise(`event ${shown}`, text);
}

/** Points out a callback after the call's argument. It is never called. */
export function adviseOnCallback(call: string, argument: unknown, advise: Advise): void {
  if (typeof argument !== "function") return;
  const text = `The callback of ${call}() is never called: use \`onError\`, on("delivered") or await flush(), or the client of @sluice/node/compat.`;
  advise("callback", text);
}
