import type { DeliveryResult } from "@sluice/destination";
import type { PostgresSettings } from "./settings.js";

/** Of PostgreSQL (`42501`) or of the connection (`ECONNRESET`). */
interface Failure {
  readonly code?: string;
  readonly message: string;
}

/** What a failure means, and what to do. Everything may work later, once somebody has repaired it. */
export function failureOf(error: unknown, settings: PostgresSettings): DeliveryResult {
  const { code = "error", message } = error as Failure;
  const { host, port, database, user, schema, table } = settings;
  const name = `${schema}.${table}`;
  return { kind: "retry", reason: code, detail: `${advice()}: ${message}` };

  function advice(): string {
    switch (code) {
      case "28P01":
      case "28000":
        return `${host}:${port} refused the user ${user}. Check user name and password`;
      case "3D000":
        return `There is no database ${database} at ${host}:${port}. Create it`;
      case "42501":
        return `The user ${user} may not do this. Grant it usage and create in ${schema}, and select, insert and delete on ${name}`;
      case "3F000":
        return `There is no schema ${schema}. Create it`;
      case "42703":
      case "42P10":
      case "42804":
        return `The table ${name} is not as it was created. Restore its columns, or set another table`;
      case "53100":
        return `The disk of ${host} is full`;
      case "53300":
        return `${host} has too many connections`;
      case "ENOTFOUND":
      case "EAI_AGAIN":
        return `${host} has no address. Check the host name`;
      default:
        return /certificate|self.signed/i.test(message)
          ? `The certificate of ${host} is not trusted. Set its certificate authority`
          : `${host}:${port}`;
    }
  }
}

/** Whether the data of the batch is the cause. */
export function isAboutData({ code = "" }: Failure): boolean {
  return /^(22|23)/.test(code) || code === "54000";
}
