export const HIDDEN = "[hidden]";

/** Names of secret fields, in lower case and without separators. */
const SECRET_NAME =
  /(?:^(?:(?:set)?cookie|writekeys?|credentials?|key|privatekey|passphrase|sig|otlpheaders)|(?:authorization|tokens?|secrets?|secretkey|apikey|accesskey|password|passwd|signature))$/;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name.toLowerCase().replace(/[-_]/g, ""));
}

/** User and password of a URL. Each repetition is bounded, so that no text takes long. */
const IN_URL = /\b([a-z][a-z0-9+.-]{1,20}:\/\/)[^\s/?#@"'<>]{1,500}@/gi;
/** The value of `Authorization`, of a secret parameter in a query, and of a secret in text such as `token: x`. */
const AFTER_SCHEME = /\b(Bearer|Basic)\s+[A-Za-z0-9+/._~=-]{4,2000}/gi;
const AFTER_NAME =
  /\b((?:[a-z]{1,20}[-_])?(?:token|secret|password|passwd|api[-_]?key|access[-_]?key|signature|sig|write[-_]?key|authorization)["']?\s?[=:]\s?["']?)(?!\[hidden\]|(?:Bearer|Basic)\b)[^\s&"',;)}#]{1,2000}/gi;
/** Write keys and admin tokens, which the collector makes, and secrets of Standard Webhooks. */
const OWN = /\b(?:(?:wk|oregon|dublin|slt)_[A-Za-z0-9]{16,200}|whsec_[A-Za-z0-9+/=]{16,200})/g;

/** The text with credentials replaced that can be recognized without knowing them. */
export function withoutSecrets(text: string): string {
  return text
    .replace(IN_URL, `$1${HIDDEN}@`)
    .replace(AFTER_SCHEME, `$1 ${HIDDEN}`)
    .replace(AFTER_NAME, `$1${HIDDEN}`)
    .replace(OWN, HIDDEN);
}
