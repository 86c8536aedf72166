import { type DefinedDestination, type DeliveryResult, defineDestination } from "@sluice/destination";
import { httpClient } from "@sluice/destination/http";
import { credentialsOf } from "./credentials.js";
import { objectsOf } from "./objects.js";
import { putObject } from "./put-object.js";
import { checkSettings, type S3Settings, SETTINGS } from "./settings.js";

/** Writes messages to objects: files of JSON lines or Parquet. */
const s3: DefinedDestination = defineDestination<S3Settings>({
  type: "s3",
  name: "S3",
  description: "Writes messages to files of JSON lines or Parquet in Amazon S3, or in a store like it",
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
          for await (const object of objectsOf(batch, settings)) {
            const refused = await putObject(object, settings, { credentials, http, signal });
            if (refused !== undefined) return refused;
          }
          return { kind: "delivered", reason: "written" };
        } catch (error) {
          const { code = "error", message } = error as NodeJS.ErrnoException;
          return { kind: "retry", reason: code, detail: message };
        }
      },
      async close() {
        http.close();
      },
    };
  },
});

export default s3;
