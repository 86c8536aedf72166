import type {
  ChannelName,
  IncidentKind,
  IncidentView,
  NotificationSettingsPatch,
  NotificationSettingsView,
  NotificationView,
} from "@sluice/control-api";
import { INCIDENT_KINDS } from "@sluice/control-api";
import { type Command, Option } from "commander";
import { definedFields } from "../../arguments/defined-fields.js";
import { durationText, readDuration, readInteger } from "../../arguments/numbers.js";
import { type CommandOptions, connectedCommand } from "../../connection/connected-command.js";
import { connect } from "../../connection/connection.js";
import { examples, newGroup, subcommandExamples } from "../../definition/command.js";
import { CommandFailure } from "../../failures/exit-codes.js";
import type { Io } from "../../terminal/io.js";
import { show } from "../../terminal/show.js";
import { table } from "../../terminal/table.js";
import { terminalText } from "../../terminal/terminal-text.js";

export function notificationsCommand(io: Io): Command {
  const group = newGroup("notifications", "get told by webhook or email when something is wrong")
    .addCommand(listCommand(io))
    .addCommand(incidentsCommand(io))
    .addCommand(settingsCommand(io))
    .addCommand(webhookCommand(io))
    .addCommand(emailCommand(io))
    .addCommand(kindsCommand(io))
    .addCommand(testCommand(io));
  subcommandExamples(group, {
    list: "sluice notifications list",
    incidents: "sluice notifications incidents",
    settings: "sluice notifications settings",
    webhook: "sluice notifications webhook https://alerts.example.com/sluice --secret …",
    email:
      "sluice notifications email --host smtp.example.com --user u --password … --from sluice@example.com --to ops@example.com",
    kinds: "sluice notifications kinds destination_failing url_disabled disk_low",
    test: "sluice notifications test",
  });
  return examples(group, [
    ["Post to a webhook", "sluice notifications webhook https://alerts.example.com/sluice --secret …"],
    ["Check that it arrives", "sluice notifications test"],
  ]);
}

function listCommand(io: Io): Command {
  return connectedCommand("list", "list notifications with what became of them, newest first").action(
    async (options: CommandOptions) => {
      const page = await (await connect(options, io)).notifications.list();
      await show(io, options.json, page, () => notificationsTable(page.items, io));
    },
  );
}

function notificationsTable(notifications: readonly NotificationView[], io: Io): string {
  return table(
    ["AT", "TITLE", "SENT"],
    notifications.map(({ at, title, channels }) => [
      at,
      title,
      channels
        .map(({ channel, state, lastError }) =>
          state === "sent" ? channel : `${channel} ${state}: ${lastError ?? "not tried yet"}`,
        )
        .join("; "),
    ]),
    io.style.bold,
  );
}

function incidentsCommand(io: Io): Command {
  return connectedCommand("incidents", "list what is wrong, and what was in the last 7 days").action(
    async (options: CommandOptions) => {
      const page = await (await connect(options, io)).notifications.incidents();
      await show(io, options.json, page, () => incidentsTable(page.items, io));
    },
  );
}

function incidentsTable(incidents: readonly IncidentView[], io: Io): string {
  return table(
    ["STATE", "SINCE", "TITLE", "DETAIL"],
    incidents.map(({ state, since, title, detail }) => [state, since, title, detail]),
    io.style.bold,
  );
}

function settingsCommand(io: Io): Command {
  return connectedCommand("settings", "show where notifications are sent, without secrets").action(
    async (options: CommandOptions) => {
      const settings = await (await connect(options, io)).notifications.settings();
      await show(io, options.json, settings, () => settingsText(settings));
    },
  );
}

function settingsText({ kinds, minIntervalMs, webhook, email }: NotificationSettingsView): string {
  const lines = [
    `webhook: ${webhook === undefined ? "not set up" : webhook.url}`,
    email === undefined
      ? "email: not set up"
      : `email: to ${email.to.join(", ")} from ${email.from} over ${email.host}:${email.port} (${email.security}${email.user === undefined ? "" : `, user ${email.user}`})`,
    `about: ${kinds.length === 0 ? "nothing" : kinds.join(", ")}`,
    `again about the same incident: after ${durationText(minIntervalMs)} at the earliest`,
  ];
  return lines.map((line) => `${terminalText(line)}\n`).join("");
}

/** Changes the settings and shows them. */
async function configure(options: CommandOptions, io: Io, patch: NotificationSettingsPatch): Promise<void> {
  const settings = await (await connect(options, io)).notifications.configure(patch);
  await show(io, options.json, settings, () => settingsText(settings));
}

interface WebhookOptions extends CommandOptions {
  readonly secret?: string;
  readonly remove?: boolean;
}

function webhookCommand(io: Io): Command {
  return connectedCommand("webhook", "post notifications to a webhook, signed")
    .argument("[url]", "its URL")
    .option("--secret <secret>", "sign each notification with it (X-Signature and webhook-signature)")
    .option("--remove", "no longer post to a webhook")
    .action(async (url: string | undefined, options: WebhookOptions) => {
      const { secret, remove } = options;
      if (remove !== true && url === undefined && secret === undefined)
        throw new CommandFailure("usage", "Give a URL, --secret or --remove");
      const webhook = remove === true ? null : definedFields({ url, sharedSecret: secret });
      await configure(options, io, { webhook });
    });
}

interface EmailOptions extends CommandOptions {
  readonly host?: string;
  readonly port?: string;
  readonly security?: "tls" | "starttls" | "none";
  readonly user?: string;
  readonly password?: string;
  readonly from?: string;
  readonly to?: string[];
  readonly remove?: boolean;
}

function emailCommand(io: Io): Command {
  return connectedCommand("email", "send notifications by email over SMTP")
    .option("--host <host>", "the mail server")
    .option("--port <port>", "its port; 587 by default")
    .addOption(
      new Option(
        "--security <how>",
        "tls: encrypted from the start, often on port 465; starttls: the default; none: not encrypted",
      ).choices(["tls", "starttls", "none"]),
    )
    .option("--user <name>", "user name for the mail server")
    .option("--password <password>", "password for the mail server")
    .option("--from <address>", "the sender")
    .option("--to <address...>", "the recipients, at most 20")
    .option("--remove", "no longer send emails")
    .action(async (options: EmailOptions) => {
      const { host, port, security, user, password, from, to, remove } = options;
      const email = definedFields({
        host,
        port: port === undefined ? undefined : readInteger("--port", port, 1, 65_535),
        security,
        user,
        password,
        from,
        to,
      });
      if (remove !== true && Object.keys(email).length === 0)
        throw new CommandFailure("usage", "Give at least one option, such as --host, or --remove");
      await configure(options, io, { email: remove === true ? null : email });
    });
}

function kindsCommand(io: Io): Command {
  return connectedCommand("kinds", "choose what notifications are sent about, and how often")
    .argument("[kinds...]", `any of ${INCIDENT_KINDS.join(", ")}; none of them: as before`)
    .option("--all", "all kinds")
    .option("--none", "no kind: nothing is sent")
    .option(
      "--min-interval <duration>",
      "the least time between two notifications that the same incident is open; 1h by default",
    )
    .action(
      async (
        kinds: string[],
        options: CommandOptions & {
          readonly all?: boolean;
          readonly none?: boolean;
          readonly minInterval?: string;
        },
      ) => {
        const { all, none, minInterval } = options;
        const unknown = kinds.find((kind) => !INCIDENT_KINDS.includes(kind as IncidentKind));
        if (unknown !== undefined)
          throw new CommandFailure("usage", `There is no kind ${unknown}: use ${INCIDENT_KINDS.join(", ")}`);
        const chosen = all === true ? INCIDENT_KINDS : none === true ? [] : (kinds as IncidentKind[]);
        await configure(options, io, {
          ...(kinds.length > 0 || all === true || none === true ? { kinds: chosen } : {}),
          ...(minInterval === undefined
            ? {}
            : { minIntervalMs: readDuration("--min-interval", minInterval) }),
        });
      },
    );
}

function testCommand(io: Io): Command {
  return connectedCommand("test", "send a test notification and show what happened")
    .addOption(new Option("--channel <channel>", "only this one").choices(["webhook", "email"]))
    .action(async (options: CommandOptions & { readonly channel?: ChannelName }) => {
      const result = await (await connect(options, io)).notifications.test(options.channel);
      await show(io, options.json, result, () =>
        table(
          ["CHANNEL", "STATE", "DETAIL"],
          result.items.map(({ channel, state, detail }) => [channel, state, detail]),
          io.style.bold,
        ),
      );
      if (result.items.some(({ state }) => state === "failed"))
        throw new CommandFailure("partly", "The test notification was not sent over every channel");
    });
}
