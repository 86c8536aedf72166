import { maxAgeSetting, type SettingsSchema } from "@sluice/destination";

export interface ClickHouseSettings {
  readonly url: string;
  readonly database: string;
  readonly table: string;
  readonly user: string;
  readonly password?: string;
  readonly maxAgeSeconds: number;
}

const NAME = "^[A-Za-z_][A-Za-z0-9_]{0,99}$";
const NAME_RULE = "a name of letters, digits and _ that begins with a letter or _";

export const SETTINGS: SettingsSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    url: {
      title: "Server",
      type: "string",
      required: true,
      pattern: "^https?://[A-Za-z0-9.:\\[\\]\\-]{1,253}/?$",
      rule: "an address such as https://clickhouse.example.com:8443, without a path",
    },
    database: { title: "Database", type: "string", pattern: NAME, rule: NAME_RULE, default: "default" },
    table: { title: "Table", type: "string", pattern: NAME, rule: NAME_RULE, default: "sluice_messages" },
    user: {
      title: "User name",
      type: "string",
      pattern: "^[\\x21-\\x7e]{1,100}$",
      rule: "a name without spaces",
      default: "default",
    },
    password: { title: "Password", type: "string", secret: { boundTo: ["url", "user"] } },
    maxAgeSeconds: { ...maxAgeSetting(10), description: "ClickHouse prefers few large inserts" },
  },
};
