import {
  checkTls,
  maxAgeSetting,
  type SettingsProblem,
  type SettingsSchema,
  TLS_SETTINGS,
  type TlsSettings,
} from "@sluice/destination";

export interface NatsSettings extends TlsSettings {
  readonly servers: string;
  readonly prefix: string;
  readonly signIn: "none" | "user" | "token" | "creds";
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  readonly creds?: string;
  readonly maxAgeSeconds: number;
}

const SERVER = "(nats://)?[A-Za-z0-9._\\-]{1,253}(:[0-9]{1,5})?";

export const SETTINGS: SettingsSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    servers: {
      title: "Servers",
      type: "string",
      required: true,
      pattern: `^${SERVER}(, ?${SERVER})*$`,
      rule: "addresses such as nats-1.example.com:4222, with commas between them",
    },
    prefix: {
      title: "Subject",
      description: "Its beginning. The source's id and the type follow",
      type: "string",
      pattern: "^[A-Za-z0-9_\\-]{1,50}([.][A-Za-z0-9_\\-]{1,50}){0,5}$",
      rule: "words of letters, digits, _ and - with dots between them",
      default: "sluice",
    },
    ...TLS_SETTINGS,
    signIn: {
      title: "Sign-in",
      type: "string",
      enum: ["none", "user", "token", "creds"],
      default: "none",
    },
    user: { title: "User name", type: "string" },
    password: { title: "Password", type: "string", secret: { boundTo: ["servers", "user"] } },
    token: { title: "Token", type: "string", secret: { boundTo: ["servers"] } },
    creds: {
      title: "Credentials",
      description: "The contents of a .creds file",
      type: "string",
      multiline: true,
      secret: { boundTo: ["servers"] },
    },
    maxAgeSeconds: maxAgeSetting(1),
  },
};

/** What each way to sign in needs. */
const NEEDED = { none: [], user: ["user", "password"], token: ["token"], creds: ["creds"] } as const;

export function checkSettings(settings: NatsSettings): readonly SettingsProblem[] {
  const { signIn } = settings;
  const needed: readonly string[] = NEEDED[signIn];
  const problems = [...checkTls(settings)];
  for (const name of ["user", "password", "token", "creds"] as const) {
    if (needed.includes(name) && settings[name] === undefined)
      problems.push({ setting: name, message: `Enter it: signIn ${signIn} needs it` });
    if (!needed.includes(name) && settings[name] !== undefined)
      problems.push({ setting: name, message: `It is not used with signIn ${signIn}. Remove it` });
  }
  return problems;
}
