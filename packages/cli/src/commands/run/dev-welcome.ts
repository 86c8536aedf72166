import type { Io } from "../../terminal/io.js";
import { terminalText } from "../../terminal/terminal-text.js";

/** What `sluice dev --json` prints in one line when it is ready. */
export interface DevReady {
  readonly url: string;
  readonly dashboardUrl: string;
  readonly adminToken: string;
  readonly writeKey: string;
  readonly sourceId: string;
}

/** What `sluice dev` prints when it is ready: addresses, keys and snippets. */
export function welcome(
  ready: DevReady,
  dataDirectory: string,
  { style, invocation }: Pick<Io, "style" | "invocation">,
): string {
  const { url, dashboardUrl, writeKey, adminToken, sourceId } = ready;
  const { bold, dim, cyan } = style;
  return `
  ${bold("Sluice")} is ready. ${dim(`Data folder: ${terminalText(dataDirectory)}`)}

  ${bold("Dashboard")}  ${cyan(dashboardUrl)}
  ${bold("API")}        ${cyan(url)}  ${dim(`(documentation: ${url}/api/v1/docs)`)}
  ${bold("Write key")}  ${writeKey}

  ${bold("For your shell")}  ${dim("used by the examples in the documentation")}

    export SLUICE_URL=${url} SLUICE_WRITE_KEY=${writeKey} SLUICE_SOURCE_ID=${sourceId}
    export SLUICE_ADMIN_TOKEN=${adminToken}

  ${bold("From Node.js")}  ${dim("see README.md for how to install @sluice/node")}

    import { Analytics } from "@sluice/node";

    const analytics = new Analytics({ writeKey: "${writeKey}", host: "${url}" });
    analytics.track({ userId: "42", event: "Signed Up", properties: { plan: "pro" } });
    await analytics.close();

  ${bold("From a shell")}

    curl ${url}/v1/track -u ${writeKey}: -H 'Content-Type: application/json' \\
      -d '{"userId":"42","event":"Signed Up","properties":{"plan":"pro"}}'

  ${bold("To a webhook")}

    ${invocation} destinations create --webhook http://127.0.0.1:3000 --secret "a secret of your own"

  ${dim(`Press Ctrl-C to stop. \`${invocation} send track --event Test\` sends a message, \`${invocation} tail\` shows what arrives.`)}

`;
}
