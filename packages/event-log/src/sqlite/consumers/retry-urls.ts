import type { Retry } from "../../ports/consumers.js";
import { DamagedData } from "../database/damage.js";

/** `doneUrls`, with `failedUrls` and `urls` where there are such. */
export type RetryUrls = Pick<Retry, "doneUrls" | "failedUrls" | "urls">;

/** What the column `urls` of a retry holds. Throws `DamagedData` where it is not what was written. */
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
