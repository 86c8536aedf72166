import { CollectorError } from "../../errors.js";
import type { Notifications } from "../../notifications/start-notifications.js";
import { type Endpoint, endpoint } from "../endpoint/endpoint.js";
import { maskUrls } from "../masking/mask-urls.js";
import { pageOfDocuments } from "../paging/page-documents.js";

export function notificationEndpoints(notifications: Notifications): readonly Endpoint[] {
  return [
    endpoint("GET /notifications", async ({ query, token }) => {
      const page = pageOfDocuments(await notifications.list(), query);
      return { status: 200, body: maskUrls(token, page) };
    }),
    endpoint("GET /notifications/incidents", async ({ query, token }) => {
      const page = pageOfDocuments(await notifications.incidents(), query);
      return { status: 200, body: maskUrls(token, page) };
    }),
    endpoint("GET /notifications/settings", async ({ token }) => {
      return { status: 200, body: maskUrls(token, await notifications.settings()) };
    }),
    endpoint("PATCH /notifications/settings", async ({ body, ifMatch }) => {
      const { version, ...patch } = body;
      const before = await notifications.settings();
      const details = { details: { version: before.version } };
      if (ifMatch !== undefined && ifMatch !== before.version)
        throw new CollectorError("precondition_failed", `they are at version ${before.version}`, details);
      if (version !== undefined && version !== before.version)
        throw new CollectorError("conflict", `they are at version ${before.version}`, details);
      const changed = await notifications.configure(patch, ifMatch ?? version);
      if (changed.ok) return { status: 200, body: changed.view };
      const [first] = changed.issues;
      throw new CollectorError("invalid_request", first && `${first.path}: ${first.message}`, {
        details: { issues: changed.issues },
      });
    }),
    endpoint("POST /notifications/test", async ({ body }) => {
      const settings = await notifications.settings();
      const isSetUp =
        body.channel === undefined
          ? settings.webhook !== undefined || settings.email !== undefined
          : settings[body.channel] !== undefined;
      if (!isSetUp)
        throw new CollectorError(
          "invalid_request",
          body.channel === undefined
            ? "no channel is set up: save a webhook or an email address first"
            : `the channel ${body.channel} is not set up: save it first`,
        );
      return { status: 200, body: await notifications.test(body.channel) };
    }),
  ];
}
