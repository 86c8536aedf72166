import { maxAgeSetting, type SettingsSchema, TLS_SETTINGS, type TlsSettings } from "@sluice/destination";

export interface PostgresSettings extends TlsSettings {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password?: string;
  readonly schema: string;
  readonly table: string;
  readonly maxAgeSeconds: number;
}

/** What PostgreSQL takes as a name without surprises: at most 63 bytes. */
const NAME = "^[A-Za-z_][A-Za-z0-9_]{0,62}$";
const NAME_RULE = "a name of letters, digits and _, at most 63, that begins with a letter or _";

export const SETTINGS: SettingsSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    host: {
      title: "Server",
      type: "string",
      required: true,
      pattern: "^[A-Za-z0-9._:\\-]{1,253}$",
      rule: "a host name or an address",
    },
    port: { title: "Port", type: "integer", minimum: 1, maximum: 65_535, default: 5432 },
    database: { title: "Database", type: "string", required: true },
    user: { title: "User name", type: "string", required: true },
    password: { title: "Password", type: "string", secret: { boundTo: ["host", "port", "user"] } },
    ...TLS_SETTINGS,
    schema: { title: "Schema", type: "string", pattern: NAME, rule: NAME_RULE, default: "public" },
    table: { title: "Table", type: "string", pattern: NAME, rule: NAME_RULE, default: "sluice_messages" },
    maxAgeSeconds: maxAgeSetting(5),
  },
};
