/** Why deliveries fail, in a few words, and what to do about it. */
export interface FailureCause {
  /** `http_503`, `timeout`, `dns_failed`, … */
  readonly cause: string;
  readonly title: string;
  readonly advice: string;
}

/** Pending for another reason than a failure. */
const WAITING = /^(replay$|waits for |waiting for |queued$)/;
/** A reason that names a URL for each of several. */
const OF_URL = /^https?:\/\/\S+: /;

/**
 * The cause of a delivery with this reason. If several URLs failed for different reasons, the first one counts. Undefined if nothing
 * failed: a replay that has not started, or a message that waits for an earlier one of its user.
 */
export function causeOf(reason: string): string | undefined {
  const last = reason.replace(/^gave up after [^:]+: /, "");
  if (WAITING.test(last)) return undefined;
  const reasons = OF_URL.test(last)
    ? last.split(/; (?=https?:\/\/)/).map((one) => one.replace(OF_URL, ""))
    : [last];
  const causes = reasons.map(causeOfOne);
  return causes.find((cause) => !cause.startsWith("http_2") && cause !== "not_tried") ?? causes[0] ?? "other";
}

function causeOfOne(reason: string): string {
  const status = /^HTTP (\d{3})$/.exec(reason)?.[1];
  if (status !== undefined) return `http_${status}`;
  const code = /^([a-z]+(?:_[a-z]+)*)(?::|$)/.exec(reason)?.[1];
  if (code !== undefined && (Object.hasOwn(BY_CAUSE, code) || code === "not_tried")) return code;
  return BY_TEXT.find(([text]) => reason.startsWith(text))?.[1] ?? "other";
}

const ALL_GONE = "all URLs are disabled because they answered 410";
const BY_TEXT: readonly (readonly [text: string, cause: string])[] = [
  [ALL_GONE, "http_410"],
  ["the message is no longer stored", "message_gone"],
  ["the source is not connected", "source_disconnected"],
  ["internal error", "internal_error"],
];

/** What to do, by cause. */
const BY_CAUSE: Readonly<Record<string, readonly [title: string, advice: string]>> = {
  http_400: [
    "400 Bad Request",
    "The receiver rejected the message. Look at its response below, fix the receiver, then retry.",
  ],
  http_401: [
    "401 Unauthorized",
    "Check the destination's headers, and that the receiver uses the same signing secret. Then retry.",
  ],
  http_403: [
    "403 Forbidden",
    "Check the destination's headers, the signing secret, and any firewall or IP list of the receiver. Then retry.",
  ],
  http_404: [
    "404 Not Found",
    "The receiver has nothing at this path. Correct the destination's URL, then retry.",
  ],
  http_405: [
    "405 Method Not Allowed",
    "The receiver does not accept POST at this path. Correct the destination's URL, then retry.",
  ],
  http_408: [
    "408 Request Timeout",
    "The receiver gave up waiting for the request. Check proxies in front of it; messages are retried.",
  ],
  http_410: [
    "410 Gone",
    "The receiver asked not to be called, so the URL is disabled. Enable it again on the destination's page, then retry.",
  ],
  http_413: [
    "413 Content Too Large",
    "The message is too large for the receiver. Raise its body limit and that of proxies in front of it, then retry.",
  ],
  http_429: [
    "429 Too Many Requests",
    "The receiver limits its rate. Set a rate limit on the destination, or raise the receiver's. Messages are retried.",
  ],
  http_501: [
    "501 Not Implemented",
    "The receiver does not support this request. Correct the destination's URL, then retry.",
  ],
  timeout: [
    "Timeout",
    "The receiver did not respond in time. Let it respond before it does the work, and check firewalls on the way.",
  ],
  dns_failed: ["Host name not found", "Check the spelling of the URL's host and its DNS records."],
  connection_refused: [
    "Connection refused",
    "Nothing listens at the URL's host and port. Start the receiver, or correct the URL.",
  ],
  connection_lost: [
    "Connection lost",
    "The receiver closed the connection before it responded. Check its logs for crashes and its proxy's timeouts.",
  ],
  unreachable: [
    "Network unreachable",
    "There is no route to the receiver. Check the network between it and the collector.",
  ],
  tls_failed: [
    "TLS failed",
    "The receiver and the collector share no TLS version. Enable TLS 1.2 or newer at the receiver.",
  ],
  bad_response: [
    "Invalid response",
    "The receiver's response is not valid HTTP. Check what listens at this URL.",
  ],
  certificate_invalid: [
    "Invalid certificate",
    "Renew or correct the receiver's certificate, or set `caFile` for your own authority. Then retry.",
  ],
  address_not_allowed: [
    "Address not allowed",
    "The URL leads to an address that is neither public nor allowed. Correct the URL, or allow the address when you start the collector. Then retry.",
  ],
  transform_failed: [
    "Transformation failed",
    "The transformation's function threw an error. Try the message on the transformation's page, save a version that works, then retry.",
  ],
  transform_unavailable: [
    "Transformation not usable",
    "The transformation or one of its secrets cannot be read. Messages wait: enter the secrets again, or detach it.",
  ],
  write_failed: [
    "Write failed",
    "The collector could not write the file. Check free space and permissions of the folder.",
  ],
  message_gone: [
    "Message no longer stored",
    "Retention or a deletion removed the message, so it cannot be sent. Discard it.",
  ],
  source_disconnected: [
    "Source not connected",
    "Connect the message's source to the destination, then retry.",
  ],
  internal_error: ["Internal error", "This is a bug of the collector. Look at its log, and report it."],
};

/** The words for a cause. Every cause has some. */
export function describeCause(cause: string): FailureCause {
  const known = BY_CAUSE[cause];
  if (known !== undefined) return { cause, title: known[0], advice: known[1] };
  const status = /^http_(\d{3})$/.exec(cause)?.[1];
  if (status === undefined)
    return { cause, title: "Other failure", advice: "Look at the reason and the last attempt below." };
  return { cause, title: statusText(status), advice: adviceOnStatus(Number(status)) };
}

/** The reason of an attempt in the words of the causes: `HTTP 500` as `500 Internal Server Error`, `timeout` as `Timeout`. */
export function describeReason(reason: string): string {
  return reason
    .replace(ALL_GONE, describeCause("http_410").title)
    .replace(/\bHTTP (\d{3})$/, (_, status: string) => describeCause(`http_${status}`).title)
    .replace(/(?<=^|: )[a-z]+(?:_[a-z]+)*(?=:|$)/g, (code) =>
      Object.hasOwn(BY_CAUSE, code) ? describeCause(code).title : code,
    );
}

const OTHER_STATUSES: Readonly<Record<string, string>> = {
  "200": "OK",
  "201": "Created",
  "202": "Accepted",
  "204": "No Content",
  "301": "Moved Permanently",
  "302": "Found",
  "303": "See Other",
  "307": "Temporary Redirect",
  "308": "Permanent Redirect",
  "409": "Conflict",
  "415": "Unsupported Media Type",
  "422": "Unprocessable Content",
  "500": "Internal Server Error",
  "502": "Bad Gateway",
  "503": "Service Unavailable",
  "504": "Gateway Timeout",
};

function statusText(status: string): string {
  const words = OTHER_STATUSES[status];
  return words === undefined ? `Status ${status}` : `${status} ${words}`;
}

function adviceOnStatus(status: number): string {
  if (status >= 500)
    return "The receiver failed. Look at its logs; messages are retried until it works again.";
  if (status >= 300 && status < 400)
    return "Redirects are not followed. Set the destination's URL to the redirect's target, then retry.";
  return "The receiver rejected the message. Look at its response below, fix the receiver, then retry.";
}
