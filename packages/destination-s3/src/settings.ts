import { maxAgeSetting, type SettingsProblem, type SettingsSchema } from "@sluice/destination";

export interface S3Settings {
  readonly bucket: string;
  readonly region: string;
  readonly endpoint?: string;
  readonly prefix: string;
  readonly format: "jsonl" | "parquet";
  readonly compression: "gzip" | "zstd" | "none";
  readonly credentials: "settings" | "environment" | "instance";
  readonly accessKeyId?: string;
  readonly secretAccessKey?: string;
  readonly maxAgeSeconds: number;
}

export const SETTINGS: SettingsSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    bucket: {
      title: "Bucket",
      type: "string",
      required: true,
      pattern: "^[a-z0-9][a-z0-9.\\-]{1,61}[a-z0-9]$",
      rule: "the name of a bucket: 3 to 63 small letters, digits, dots and dashes",
    },
    region: {
      title: "Region",
      type: "string",
      pattern: "^[a-z0-9\\-]{1,40}$",
      rule: "a region such as eu-central-1",
      default: "us-east-1",
    },
    endpoint: {
      title: "Endpoint",
      description: "Of another store than Amazon's, such as https://storage.example.com",
      type: "string",
      pattern: "^https?://[A-Za-z0-9.:\\[\\]\\-]{1,253}/?$",
      rule: "an address such as https://storage.example.com, without a path",
    },
    prefix: {
      title: "Prefix",
      description: "The folder in the bucket",
      type: "string",
      pattern: "^([A-Za-z0-9_.=\\-]+/)*[A-Za-z0-9_.=\\-]+$",
      rule: "names of letters, digits, dots, dashes, = and _, with / between them",
      default: "sluice",
    },
    format: { title: "Format", type: "string", enum: ["jsonl", "parquet"], default: "jsonl" },
    compression: {
      title: "Compression",
      description: "Of JSON lines. Parquet is compressed with Snappy",
      type: "string",
      enum: ["gzip", "zstd", "none"],
      default: "gzip",
    },
    credentials: {
      title: "Credentials",
      description:
        "settings: the keys below. environment: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of the collector. instance: the role of its machine at Amazon",
      type: "string",
      enum: ["settings", "environment", "instance"],
      default: "settings",
    },
    accessKeyId: {
      title: "Access key id",
      type: "string",
      pattern: "^[\\x21-\\x7e]{1,128}$",
      rule: "a key id",
    },
    secretAccessKey: {
      title: "Secret access key",
      type: "string",
      secret: { boundTo: ["endpoint", "accessKeyId"] },
    },
    maxAgeSeconds: maxAgeSetting(60),
  },
};

export function checkSettings({
  credentials,
  accessKeyId,
  secretAccessKey,
}: S3Settings): readonly SettingsProblem[] {
  const keys = [accessKeyId, secretAccessKey].filter((key) => key !== undefined).length;
  if (credentials === "settings" && keys < 2)
    return [
      { setting: "secretAccessKey", message: "Set accessKeyId and secretAccessKey, or other credentials" },
    ];
  if (credentials !== "settings" && keys > 0)
    return [{ setting: "credentials", message: "Use either keys or other credentials: null removes a key" }];
  return [];
}
