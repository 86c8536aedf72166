import type { SettingsProblem, SettingsSchema } from "@sluice/destination";

export interface KafkaSettings {
  readonly brokers: string;
  readonly topic: string;
  readonly security: "tls" | "none";
  readonly ca?: string;
  readonly mechanism: "none" | "plain" | "scram-sha-256" | "scram-sha-512";
  readonly user?: string;
  readonly password?: string;
  readonly compression: "gzip" | "none";
  readonly maxAgeSeconds: number;
}

const BROKER = "[A-Za-z0-9._\\-]{1,253}:[0-9]{1,5}";

export const SETTINGS: SettingsSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    brokers: {
      title: "Brokers",
      description: "Some of them: they name the others",
      type: "string",
      required: true,
      pattern: `^${BROKER}(, ?${BROKER})*$`,
      rule: "addresses such as kafka-1.example.com:9092, with commas between them",
    },
    topic: {
      title: "Topic",
      type: "string",
      required: true,
      pattern: "^[A-Za-z0-9._\\-]{1,249}$",
      rule: "a name of letters, digits, ., _ and -, at most 249",
    },
    security: {
      title: "Security",
      description:
        "tls: encrypted, and the certificate is checked. none: only within a network that you trust",
      type: "string",
      enum: ["tls", "none"],
      default: "tls",
    },
    ca: {
      title: "Certificate authority",
      description: "In PEM, to trust besides the public ones",
      type: "string",
      multiline: true,
      pattern: "^-----BEGIN CERTIFICATE-----[\\s\\S]+$",
      rule: "a certificate in PEM",
    },
    mechanism: {
      title: "Sign-in (SASL)",
      type: "string",
      enum: ["none", "plain", "scram-sha-256", "scram-sha-512"],
      default: "none",
    },
    user: { title: "User name", type: "string" },
    password: { title: "Password", type: "string", secret: { boundTo: ["brokers", "user"] } },
    compression: { title: "Compression", type: "string", enum: ["gzip", "none"], default: "gzip" },
    maxAgeSeconds: {
      title: "Write at least every (seconds)",
      type: "integer",
      minimum: 1,
      maximum: 3_600,
      default: 1,
    },
  },
};

export function checkSettings({
  security,
  ca,
  mechanism,
  user,
  password,
}: KafkaSettings): readonly SettingsProblem[] {
  const problems: SettingsProblem[] = [];
  if (security === "none" && ca !== undefined)
    problems.push({ setting: "ca", message: "A certificate authority is only used with security tls" });
  if (mechanism === "none" && (user !== undefined || password !== undefined))
    problems.push({
      setting: "mechanism",
      message: "Choose how the user signs in, as the brokers expect it",
    });
  if (mechanism !== "none" && user === undefined)
    problems.push({ setting: "user", message: `Enter a user: ${mechanism} needs one` });
  if (mechanism !== "none" && password === undefined)
    problems.push({ setting: "password", message: `Enter a password: ${mechanism} needs one` });
  return problems;
}
