import { isPlainObject, LIMITS } from "@sluice/protocol";
import type { RefuseSetting } from "../../read-settings.js";
import type { SecretBox } from "../../secret-box.js";
import { headerProblem } from "../request/custom-headers.js";
import { MAX_URL_LENGTH } from "./settings-schema.js";

export interface WebhookEntry {
  readonly url: string;
  /** Values are sealed. */
  readonly headers: { readonly [name: string]: string };
  /** Set when the URL answered 410: nothing is sent there until the webhooks are saved again. */
  readonly disabled?: { readonly at: string; readonly reason: string };
}

const MAX_HEADERS = 50;
/** Replaces a header's value in answers. Sent back, it keeps the stored value. */
export const MASK = "••••••••";

/** Says why requests to a URL would be refused, or undefined. */
export type JudgeUrl = (url: URL) => Promise<string | undefined>;

export interface ReadWebhooksOptions {
  readonly secrets: SecretBox;
  readonly judgeUrl: JudgeUrl;
  readonly refuse: RefuseSetting;
  /** The stored webhooks: a masked header keeps the value that it has there. */
  readonly previous: readonly WebhookEntry[] | undefined;
}

/** Reads `webhooks`, or its older form `webhookUrl`. Every URL is checked, every header's value sealed. */
export async function readWebhooks(
  list: unknown,
  webhookUrl: unknown,
  options: ReadWebhooksOptions,
): Promise<readonly WebhookEntry[]> {
  const { refuse, previous } = options;
  if (list === undefined && webhookUrl === undefined) {
    if (previous === undefined) refuse("webhooks", "required", "At least one webhook with a url is required");
    return previous ?? [];
  }
  if (list === undefined) {
    const entry = await readEntry({ url: webhookUrl }, "webhookUrl", "webhookUrl", options);
    return entry === undefined ? [] : [entry];
  }
  if (webhookUrl !== undefined && webhookUrl !== null) {
    refuse("webhookUrl", "conflict", "Set webhooks or webhookUrl, not both");
    return [];
  }
  if (!Array.isArray(list) || list.length === 0) {
    refuse("webhooks", "required", "webhooks must be a list with at least one entry");
    return [];
  }
  if (list.length > LIMITS.webhooksPerDestination) {
    refuse("webhooks", "too_many", `At most ${LIMITS.webhooksPerDestination} webhooks, got ${list.length}`);
    return [];
  }
  return readEntries(list, options);
}

async function readEntries(
  list: readonly unknown[],
  options: ReadWebhooksOptions,
): Promise<readonly WebhookEntry[]> {
  const entries: WebhookEntry[] = [];
  for (const [index, item] of list.entries()) {
    const path = `webhooks[${index}]`;
    const entry = await readEntry(item, path, `${path}.url`, options);
    if (entry === undefined) continue;
    if (entries.some(({ url }) => url === entry.url))
      options.refuse(`${path}.url`, "duplicate", "This URL is already in the list");
    else entries.push(entry);
  }
  return entries;
}

async function readEntry(
  item: unknown,
  path: string,
  urlPath: string,
  options: ReadWebhooksOptions,
): Promise<WebhookEntry | undefined> {
  const { refuse } = options;
  if (!isPlainObject(item)) {
    refuse(path, "not_an_object", "A webhook must be an object with a url");
    return undefined;
  }
  for (const key of Object.keys(item)) {
    // Answers show `disabled`. Sent back, it is ignored.
    if (!["url", "headers", "disabled"].includes(key))
      refuse(`${path}.${key}`, "unknown_setting", `There is no setting ${key}`);
  }
  const url = await readUrl(item.url, urlPath, options);
  const headers = readHeaders(item.headers, `${path}.headers`, url, options);
  return url === undefined ? undefined : { url, headers };
}

async function readUrl(
  value: unknown,
  path: string,
  { refuse, judgeUrl }: ReadWebhooksOptions,
): Promise<string | undefined> {
  const bad = (code: string, message: string): undefined => {
    refuse(path, code, message);
    return undefined;
  };
  if (typeof value !== "string" || value === "") return bad("required", "A full URL is required");
  if (value.length > MAX_URL_LENGTH) return bad("too_long", `A URL has at most ${MAX_URL_LENGTH} characters`);
  if (!/^https?:\/\//i.test(value.trim()) || !URL.canParse(value))
    return bad("invalid_url", "A full URL is required, starting with http:// or https://");
  const url = new URL(value);
  if (url.port === "0")
    return bad("invalid_url", "No receiver can listen on port 0: use the receiver's port");
  if (url.username !== "" || url.password !== "")
    return bad(
      "credentials_in_url",
      "A URL must not contain a user name or password: use an Authorization header",
    );
  url.hash = "";
  const problem = await judgeUrl(url);
  return problem === undefined ? url.href : bad("address_not_allowed", problem);
}

function readHeaders(
  value: unknown,
  path: string,
  url: string | undefined,
  { refuse, secrets, previous }: ReadWebhooksOptions,
): { [name: string]: string } {
  const sealed: { [name: string]: string } = {};
  if (value === undefined || value === null) return sealed;
  if (!isPlainObject(value)) {
    refuse(path, "not_an_object", "headers must be an object of names and values");
    return sealed;
  }
  const entries = Object.entries(value);
  if (entries.length > MAX_HEADERS) refuse(path, "too_many", `At most ${MAX_HEADERS} headers`);
  const stored = new Map(Object.entries(previous?.find((entry) => entry.url === url)?.headers ?? {}));
  const seen = new Set<string>();
  for (const [name, value] of entries) {
    const isMasked = value === MASK;
    const problem = seen.has(name.toLowerCase())
      ? `${name} is set twice`
      : valueProblem(name, value, stored.get(name));
    seen.add(name.toLowerCase());
    if (problem !== undefined) refuse(`${path}[${JSON.stringify(name)}]`, "invalid_header", problem);
    else sealed[name] = isMasked ? (stored.get(name) ?? "") : secrets.seal(value as string);
  }
  return sealed;
}

function valueProblem(name: string, value: unknown, stored: string | undefined): string | undefined {
  if (value !== MASK) return headerProblem(name, value);
  return (
    headerProblem(name, "") ?? (stored === undefined ? `No value of ${name} is stored: set one` : undefined)
  );
}
