// The lines of the webhooks guide that check `X-Signature`, one block a language. They are built into the programs of this folder.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "..");
const GUIDE = join(FOLDER, "../../docs/guide/webhooks.md");

/** Where each language's block goes, by the word behind the fence. What is around it makes it a part of a program. */
const PLACES = {
  js: { file: "verifiers/target/guide.mjs", whole: (code) => `${code}\nexport { isValid };\n` },
  python: { file: "python/target/guide.py", whole: (code) => code },
  go: { file: "go/verify/guide.go", whole: (code) => `package main\n\n${code}` },
  java: { file: "java/target/guide/Signature.java", whole: (code) => code },
  rust: { file: "rust/target/guide.rs", whole: (code) => code },
};

/** What each file has to contain. */
export function guideFiles() {
  const guide = readFileSync(GUIDE, "utf8");
  return Object.entries(PLACES).map(([language, { file, whole }]) => {
    const blocks = [...guide.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, "gm"))];
    const [, code] = blocks.find(([, code]) => /\b(?:is_valid|isValid)\b/.test(code)) ?? [];
    if (code === undefined)
      throw new Error(`docs/guide/webhooks.md has no block that checks X-Signature in ${language}`);
    return { language, path: join(FOLDER, file), code: whole(code), lines: code.trim().split("\n").length };
  });
}
