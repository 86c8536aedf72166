// Reads deliveries from stdin, one a line, and says of each what the libraries say.
import { createRequire } from "node:module";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { isValid } from "./target/guide.mjs";

const FOLDER = import.meta.dirname;
const standard = createRequire(join(FOLDER, "../../../apps/collector/package.json"))("standardwebhooks");
const svix = createRequire(join(FOLDER, "../../clients/package.json"))("svix");

function verdict(verify) {
  try {
    return verify() === false ? "refused" : "valid";
  } catch {
    return "refused";
  }
}

for (const line of (await text(process.stdin)).trimEnd().split("\n")) {
  const { secret, isRaw, body, headers } = JSON.parse(line);
  const arguments_ = isRaw ? [Buffer.from(secret), { format: "raw" }] : [secret];
  console.log(
    [
      verdict(() => new standard.Webhook(...arguments_).verify(body, headers)),
      verdict(() => new svix.Webhook(...arguments_).verify(body, headers)),
      verdict(() => isValid(Buffer.from(body), headers["x-signature"], secret)),
    ].join(" "),
  );
}
