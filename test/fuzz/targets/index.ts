import type { FuzzTarget } from "../engine/target.js";
import { controlApi } from "./collector/control-api.js";
import { destinationSettings } from "./collector/destination-settings.js";
import { hosts } from "./collector/hosts.js";
import { httpRequests } from "./collector/http-requests.js";
import { inflating } from "./collector/inflate.js";
import { rebinding } from "./collector/rebinding.js";
import { settings } from "./collector/settings.js";
import { tokens } from "./collector/tokens.js";
import { urls } from "./collector/urls.js";
import { csvRoundTrip, importFiles } from "./outside/csv.js";
import { sdkOptions } from "./outside/sdk-options.js";
import { spool, spoolFolder } from "./outside/spool.js";
import { terminalTexts } from "./outside/terminal-text.js";
import { webhookSignature } from "./outside/webhook-signature.js";
import { conditions } from "./protocol/conditions.js";
import { filter } from "./protocol/filter.js";
import { messages } from "./protocol/messages.js";
import { patterns } from "./protocol/patterns.js";
import { retryAfter } from "./protocol/retry-after.js";
import { timestamps } from "./protocol/timestamps.js";
import { trackingPlans } from "./protocol/tracking-plans.js";
import { codecs } from "./store/codecs.js";
import { documents } from "./store/documents.js";
import { jsonText } from "./store/json-text.js";
import { logEntries } from "./store/log-entries.js";
import { requestBytes } from "./store/request-bytes.js";

/** Every target, by what it belongs to. */
export const TARGETS: readonly FuzzTarget[] = [
  ...[requestBytes, jsonText, codecs, logEntries, documents],
  ...[messages, timestamps, filter, conditions, patterns, trackingPlans, retryAfter],
  ...[httpRequests, controlApi, urls, rebinding, hosts, tokens, inflating, settings, destinationSettings],
  ...[webhookSignature, terminalTexts, csvRoundTrip, importFiles, sdkOptions, spool, spoolFolder],
];
