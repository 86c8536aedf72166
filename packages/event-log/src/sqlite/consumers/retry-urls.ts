import type { Retry } from "../../ports/consumers.js";
import { DamagedData } from "../database/damage.js";

/** The URLs of a retry, and its `notBeforeMs`. All but `doneUrls` are optional. */
export type RetryUrls = Pick<Retry, "doneUrls" | "failedUrls" | "urls" | "notBeforeMs">;

/** Reads the column `urls` of a retry. Throws `DamagedData` if it is not what was written. */
export function readRetryUrls(text: string, offset: number): RetryUrls {
  const what = `the URLs of the retry of the message ${offset}`;
  let urls: Partial<RetryUrls> | null;
  try {
    urls = JSON.parse(text) as Partial<RetryUrls> | null;
  } catch (error) {
    throw new DamagedData(what, error);
  }
  if (!Array.isArray(urls?.doneUrls)) throw new DamagedData(what);
  return urls as RetryUrls;
}
