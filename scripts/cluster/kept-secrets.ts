import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Secrets {
  readonly adminToken: string;
  readonly secretKey: string;
}

/** The admin token and the secret key of all collectors, made once for a data folder. */
export function keptSecrets(directory: string): Secrets {
  const file = join(directory, "secrets.json");
  if (existsSync(file)) return JSON.parse(readFileSync(file, "utf8")) as Secrets;
  const secrets = {
    adminToken: `at_${randomBytes(24).toString("base64url")}`,
    secretKey: randomBytes(32).toString("base64"),
  };
  writeFileSync(file, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600, flag: "wx" });
  return secrets;
}
