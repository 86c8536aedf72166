import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Language } from "./clients.ts";

/** A file that `npm run polyglot:install` makes last, by language. */
const BUILT: Readonly<Record<Language, string>> = {
  Python: "python/.venv/installed",
  Go: "go/bin/installed",
  Java: "java/target/installed",
  Rust: "rust/bin/installed",
};
const LANGUAGES = Object.keys(BUILT) as Language[];

const missing =
  process.env.CI === undefined
    ? LANGUAGES.filter((language) => !existsSync(join(import.meta.dirname, BUILT[language])))
    : [];
if (missing.length > 0)
  console.warn(`skipped: needs the programs in ${missing.join(", ")}: npm run polyglot:install`);

/** Languages whose programs are built. On CI all have to be. */
export const installed = (language: Language): boolean => !missing.includes(language);
export const isEverythingInstalled = missing.length === 0;
