import type { SettingsProblem, SettingsSchema } from "@sluice/destination";

export interface EmailSettings {
  readonly host: string;
  readonly port: number;
  readonly security: "starttls" | "tls" | "none";
  readonly user?: string;
  readonly password?: string;
  readonly from: string;
  readonly to: readonly string[];
}

/** One plain address, without a display name: no character in it can begin another header or recipient. */
const ADDRESS = '^[^\\s@<>(),;:"\\[\\]\\\\\\p{Cc}]{1,64}@[^\\s@<>(),;:"\\[\\]\\\\\\p{Cc}]{1,255}$';

export const SETTINGS: SettingsSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    host: {
      title: "Mail server",
      type: "string",
      required: true,
      pattern: "^[A-Za-z0-9._:\\-]{1,253}$",
      rule: "a host name or an address",
    },
    port: { title: "Port", type: "integer", minimum: 1, maximum: 65_535, default: 587 },
    security: {
      title: "Security",
      description: "starttls: often port 587. tls: often port 465. none: not encrypted, without a password",
      type: "string",
      enum: ["starttls", "tls", "none"],
      default: "starttls",
    },
    user: { title: "User name", type: "string" },
    password: { title: "Password", type: "string", secret: { boundTo: ["host", "port"] } },
    from: {
      title: "Sender",
      type: "string",
      required: true,
      pattern: ADDRESS,
      rule: "an address such as sluice@example.com",
    },
    to: {
      title: "Recipients",
      type: "array",
      items: { type: "string" },
      required: true,
      pattern: ADDRESS,
      rule: "a list of addresses such as ops@example.com",
    },
  },
};

export function checkSettings({ user, password, security }: EmailSettings): readonly SettingsProblem[] {
  if ((user === undefined) !== (password === undefined))
    return [{ setting: "password", message: "User name and password go together: set both, or neither" }];
  if (security === "none" && password !== undefined)
    return [
      {
        setting: "security",
        message: "A password is only sent over an encrypted connection: use tls or starttls",
      },
    ];
  return [];
}
