import {
  checkTls,
  maxAgeSetting,
  type SettingsProblem,
  type SettingsSchema,
  TLS_SETTINGS,
  type TlsSettings,
} from "@sluice/destination";

export interface KafkaSettings extends TlsSettings {
  readonly brokers: string;
  readonly topic: string;
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
    ...TLS_SETTINGS,
    mechanism: {
      title: "Sign-in (SASL)",
      type: "string",
      enum: ["none", "plain", "scram-sha-256", "scram-sha-512"],
      default: "none",
    },
    user: { title: "User name", type: "string" },
    password: { title: "Password", type: "string", secret: { boundTo: ["brokers", "user"] } },
    compression: { title: "Compression", type: "string", enum: ["gzip", "none"], default: "gzip" },
    maxAgeSeconds: maxAgeSetting(1),
  },
};

export function checkSettings(settings: KafkaSettings): readonly SettingsProblem[] {
  const { mechanism, user, password } = settings;
  const problems = [...checkTls(settings)];
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
