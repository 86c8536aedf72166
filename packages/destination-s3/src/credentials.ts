import type { HttpClient } from "@sluice/destination/http";
import type { S3Settings } from "./settings.js";

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** Gives the credentials for a request. */
export type GetCredentials = (signal: AbortSignal) => Promise<Credentials>;

const METADATA = "http://169.254.169.254";
/** New ones are there long before the present ones end. */
const RENEW_BEFORE_MS = 5 * 60_000;

export function credentialsOf(settings: S3Settings, http: HttpClient, now: () => number): GetCredentials {
  if (settings.credentials === "environment") return async () => fromEnvironment();
  if (settings.credentials === "settings") {
    const { accessKeyId = "", secretAccessKey = "" } = settings;
    return async () => ({ accessKeyId, secretAccessKey });
  }
  let known: { readonly credentials: Credentials; readonly untilMs: number } | undefined;
  return async (signal) => {
    if (known === undefined || now() > known.untilMs - RENEW_BEFORE_MS)
      known = await ofInstance(http, signal);
    return known.credentials;
  };
}

function fromEnvironment(): Credentials {
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
  if (AWS_ACCESS_KEY_ID === undefined || AWS_SECRET_ACCESS_KEY === undefined)
    throw noCredentials("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not set where the collector runs");
  return {
    accessKeyId: AWS_ACCESS_KEY_ID,
    secretAccessKey: AWS_SECRET_ACCESS_KEY,
    ...(AWS_SESSION_TOKEN === undefined ? {} : { sessionToken: AWS_SESSION_TOKEN }),
  };
}

function noCredentials(message: string): Error {
  return Object.assign(new Error(message), { code: "no_credentials" });
}

/** The role of the machine, from Amazon's metadata service (version 2). The collector has to allow its address. */
async function ofInstance(
  http: HttpClient,
  signal: AbortSignal,
): Promise<{ readonly credentials: Credentials; readonly untilMs: number }> {
  const base = process.env.AWS_EC2_METADATA_SERVICE_ENDPOINT ?? METADATA;
  const call = async (method: string, path: string, headers: { [name: string]: string }): Promise<string> => {
    const request = { method, url: `${base}${path}`, headers, signal };
    const { status, body } = await http.send(request).catch((error: Error) => {
      const advice = `Is this a machine of Amazon, and is ${new URL(base).hostname} in allowTargets?`;
      throw noCredentials(`The metadata service cannot be reached. ${advice} ${error.message}`);
    });
    if (status !== 200)
      throw noCredentials(`The metadata service answered ${status} to ${path}: has the machine a role?`);
    return body;
  };
  const token = await call("PUT", "/latest/api/token", { "X-aws-ec2-metadata-token-ttl-seconds": "300" });
  const headers = { "X-aws-ec2-metadata-token": token };
  const folder = "/latest/meta-data/iam/security-credentials/";
  const role = (await call("GET", folder, headers)).split("\n")[0];
  const found = JSON.parse(await call("GET", `${folder}${role}`, headers));
  return {
    credentials: {
      accessKeyId: found.AccessKeyId,
      secretAccessKey: found.SecretAccessKey,
      sessionToken: found.Token,
    },
    untilMs: Date.parse(found.Expiration),
  };
}
