import { type DefinedDestination, defineDestination } from "@sluice/destination";
import { checkSettings, type EmailSettings, SETTINGS } from "./email-settings.js";
import { emailOf } from "./email-text.js";
import { sendEmail } from "./send-email.js";

/** Sends each message as a plain-text email over SMTP. */
const email: DefinedDestination = defineDestination<EmailSettings>({
  type: "email",
  name: "Email",
  description:
    "Sends messages as plain-text email over SMTP: made for few messages, such as those of incidents",
  settings: SETTINGS,
  check: checkSettings,
  target: ({ host, port }) => `email:${host}:${port}`,
  // Mail servers refuse those who open many connections at once.
  flow: () => ({ concurrency: 2, order: "none" }),
  open: (settings, { connect }) => ({
    deliver: (message, { signal }) => sendEmail(settings, emailOf(message), connect, signal),
  }),
});

export default email;
