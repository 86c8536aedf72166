/**
 * What a destination can be set up with. The collector checks settings against this, completes them with defaults, seals
 * and masks secrets, and shows the schema in the catalog; dashboard and command line build their forms from it.
 */
export interface SettingsSchema {
  readonly type: "object";
  readonly additionalProperties: false;
  readonly properties: { readonly [name: string]: SettingSchema };
}

/** One setting: the part of JSON Schema that forms need. */
export interface SettingSchema {
  /** `array`: a list of texts. */
  readonly type: string | readonly string[];
  /** Its name in forms. */
  readonly title: string;
  readonly description?: string;
  /** Absent: the setting is optional, unless `required` says otherwise. */
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  /** Of an `object`: settings that make sense only together, without secrets. Without a value, none of them has one. */
  readonly properties?: { readonly [name: string]: SettingSchema };
  /** A regular expression for a text, or for each item of a list. */
  readonly pattern?: string;
  /** Completes the error "NAME must be …". Default: made from the other keywords. */
  readonly rule?: string;
  /** A text of several lines, such as a certificate. Default: false. */
  readonly multiline?: boolean;
  /** It cannot be left out. Default: false. */
  readonly required?: boolean;
  /**
   * A secret text: sealed on disk, never shown or logged, `null` removes it. Answers have `NAMESet: true` instead. `boundTo`:
   * settings that say where it is sent; if one of them changes, it has to be entered again, because whoever may change
   * settings must not send a stored secret to a server of their own.
   */
  readonly secret?: { readonly boundTo: readonly string[] };
  /** Keywords that only describe it. */
  readonly [keyword: string]: unknown;
}

/** What is wrong with a setting. */
export interface SettingsProblem {
  /** The setting's name. */
  readonly setting: string;
  /** A sentence that says what to do. */
  readonly message: string;
}

export interface TlsSettings {
  readonly security: "tls" | "none";
  readonly ca?: string;
}

/** The settings of a connection that is encrypted if the server can. Check them with `checkTls`. */
export const TLS_SETTINGS: SettingsSchema["properties"] = {
  security: {
    title: "Security",
    description: "tls: encrypted, and the certificate is checked. none: only within a network that you trust",
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
};

export function checkTls({ security, ca }: TlsSettings): readonly SettingsProblem[] {
  return security === "none" && ca !== undefined
    ? [{ setting: "ca", message: "A certificate authority is only used with security tls" }]
    : [];
}

/** The setting for a `maxAgeMs` of batches: how long the first message waits for others. `seconds`: the default. */
export function maxAgeSetting(seconds: number): SettingSchema {
  return {
    title: "Write at least every (seconds)",
    type: "integer",
    minimum: 1,
    maximum: 3_600,
    default: seconds,
  };
}
