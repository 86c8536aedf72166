// `npm run kafka:install`: puts Apache Kafka into a cache folder, with Maven. It runs on the Java of the machine.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { JARS, KAFKA_VERSION } from "./kafka-server.ts";

const marker = join(JARS, "installed");
if (!existsSync(marker)) {
  mkdirSync(JARS, { recursive: true });
  const goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", `-DoutputDirectory=${JARS}`];
  execFileSync("mvn", ["--quiet", "--batch-mode", "-f", join(import.meta.dirname, "pom.xml"), ...goal], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  writeFileSync(marker, "");
}
console.log(`Apache Kafka ${KAFKA_VERSION} is at ${JARS}`);
