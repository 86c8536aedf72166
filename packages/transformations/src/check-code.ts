import { openSandboxes } from "./sandboxes.js";
import type { CodeCheck, TransformLanguage } from "./transform.js";

/** Strips types, and checks syntax and the export, in a thread of its own. Nothing runs. */
export async function checkCode(code: string, language: TransformLanguage): Promise<CodeCheck> {
  const sandboxes = openSandboxes();
  try {
    return await sandboxes.check(code, language);
  } finally {
    await sandboxes.close();
  }
}
