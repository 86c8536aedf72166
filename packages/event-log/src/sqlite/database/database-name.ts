import { existsSync } from "node:fs";

export const DATABASE_FILE = "sluice.db";

/** `file-1`, or the name with the next free number. */
export function nextFreeName(file: string): string {
  for (let no = 1; ; no++) {
    const name = `${file}-${no}`;
    if (!existsSync(name)) return name;
  }
}
