import { hash } from "node:crypto";
import type { DeliveryResult } from "@sluice/destination";
import type { HttpClient, HttpResponse } from "@sluice/destination/http";
import { AwsV4Signer } from "aws4fetch";
import type { Credentials } from "./credentials.js";
import type { S3Object } from "./objects.js";
import type { S3Settings } from "./settings.js";

/** Amazon has a host for each bucket; other stores have paths. */
export function urlOf({ bucket, region, endpoint }: S3Settings, key: string): string {
  const path = key.split("/").map(encodeURIComponent).join("/");
  if (endpoint !== undefined) return `${endpoint.replace(/\/$/, "")}/${bucket}/${path}`;
  // A certificate for *.s3 does not cover names with dots.
  return bucket.includes(".")
    ? `https://s3.${region}.amazonaws.com/${bucket}/${path}`
    : `https://${bucket}.s3.${region}.amazonaws.com/${path}`;
}

/** Writes an object, in place of one with its key. Undefined: it is written. Rejects if there is no answer. */
export async function putObject(
  { key, body }: S3Object,
  settings: S3Settings,
  { credentials, http, signal }: { credentials: Credentials; http: HttpClient; signal: AbortSignal },
): Promise<DeliveryResult | undefined> {
  const { method, url, headers } = await new AwsV4Signer({
    method: "PUT",
    url: urlOf(settings, key),
    // A body that was changed on its way is refused.
    headers: { "X-Amz-Content-Sha256": hash("sha256", body, "hex") },
    service: "s3",
    region: settings.region,
    ...credentials,
  }).sign();
  const response = await http.send({
    method,
    url,
    headers: { ...Object.fromEntries(headers), "content-length": String(body.byteLength) },
    body,
    signal,
  });
  return response.status === 200 ? undefined : refusal(response, settings);
}

/** Everything may work later, once somebody has repaired it. */
function refusal({ status, body, retryAfterMs }: HttpResponse, settings: S3Settings): DeliveryResult {
  const code = /<Code>([A-Za-z]{1,60})<\/Code>/.exec(body)?.[1] ?? `HTTP ${status}`;
  const said = /<Message>([^<]{1,300})/.exec(body)?.[1] ?? `HTTP ${status}`;
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return { kind: "retry", reason: code, detail: `${advice(code, settings)}: ${said}`, ...wait };
}

function advice(code: string, { bucket, region }: S3Settings): string {
  switch (code) {
    case "AccessDenied":
      return `The credentials may not write to ${bucket}. They need s3:PutObject there`;
    case "InvalidAccessKeyId":
    case "SignatureDoesNotMatch":
    case "ExpiredToken":
      return "The store refused the credentials. Enter the right key id and secret";
    case "NoSuchBucket":
      return `There is no bucket ${bucket}. Create it`;
    case "PermanentRedirect":
    case "AuthorizationHeaderMalformed":
    case "IllegalLocationConstraintException":
      return `The bucket ${bucket} is not in ${region}. Set its region`;
    case "SlowDown":
      return "The store asks for fewer requests";
    case "RequestTimeTooSkewed":
      return "The clock of the collector's machine is wrong";
    default:
      return "The store refused an object";
  }
}
