import { CollectorError, ERRORS } from "../../errors.js";
import type { HttpAnswer } from "../../http/routing.js";

/** The answer to a request without a valid token, with the challenge that RFC 9110 requires on a 401. Throws every other error again. */
export function challenge(error: unknown, advice?: string): HttpAnswer {
  if (!(error instanceof CollectorError) || error.code !== "unauthorized") throw error;
  return {
    status: ERRORS.unauthorized.status,
    headers: challengeHeaders(),
    body: {
      success: false,
      code: error.code,
      message: advice === undefined ? error.message : `${error.message}. ${advice}`,
    },
  };
}

/** Of every answer with status 401. */
export function challengeHeaders(): Readonly<Record<string, string>> {
  return { "www-authenticate": 'Bearer realm="sluice"' };
}
