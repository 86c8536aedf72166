import { type DefinedDestination, type DeliveryResult, defineDestination } from "@sluice/destination";
import { httpClient, resultWithoutResponse } from "@sluice/destination/http";
import { credentialsOf } from "./credentials.js";
import { objectsOf, putObject, urlOf } from "./put-object.js";
import { checkSettings, type S3Settings, SETTINGS } from "./settings.js";

/** Writes messages to objects: files of JSON lines or Parquet. */
const s3: DefinedDestination = defineDestination<S3Settings>({
  type: "s3",
  name: "S3",
  description: "Writes messages to files of JSON lines or Parquet in Amazon S3, or in a store like it",
  icon: "M2.5 4.2 4 13.2c.1.5 1.8.8 4 .8s3.9-.3 4-.8l1.5-9M13.5 4c0 1.1-2.5 2-5.5 2s-5.5-.9-5.5-2S5 2 8 2s5.5.9 5.5 2Z",
  settings: SETTINGS,
  check: checkSettings,
  timeoutMs: 120_000,
  target: ({ bucket, prefix }) => `s3:${bucket}/${prefix}`,
  batch: ({ maxAgeSeconds }) => ({ maxAgeMs: maxAgeSeconds * 1_000 }),
  open(settings, { connect, now }) {
    const http = httpClient(connect);
    const getCredentials = credentialsOf(settings, http, now);
    return {
      async deliverBatch(batch, { signal }): Promise<DeliveryResult> {
        try {
          const credentials = await getCredentials(signal);
          let lastKey = "";
          for await (const object of objectsOf(batch, settings)) {
            const refused = await putObject(object, settings, { credentials, http, signal });
            if (refused !== undefined) return refused;
            lastKey = object.key;
          }
          return { kind: "delivered", reason: "written", detail: `s3://${settings.bucket}/${lastKey}` };
        } catch (error) {
          return resultWithoutResponse(error, urlOf(settings, ""));
        }
      },
      async close() {
        http.close();
      },
    };
  },
});

export default s3;
