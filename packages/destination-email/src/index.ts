import { type DefinedDestination, defineDestination } from "@sluice/destination";
import { checkSettings, type EmailSettings, SETTINGS } from "./email-settings.js";
import { emailOf, sendEmail } from "./send-email.js";

/** Sends each message as a plain-text email over SMTP. */
const email: DefinedDestination = defineDestination<EmailSettings>({
  type: "email",
  name: "Email",
  description:
    "Sends messages as plain-text email over SMTP: made for few messages, such as those of incidents",
  icon: "M2 4.5a1 1 0 0 1 1-1h10a1 1 0 0 1 1 1v7a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1ZM2.3 4.5 8 9l5.7-4.5",
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
