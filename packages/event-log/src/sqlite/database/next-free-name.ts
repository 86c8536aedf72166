import { existsSync } from "node:fs";

/** `file-1`, or the name with the next free number. */
export function nextFreeName(file: string): string {
  for (let no = 1; ; no++) {
    const name = `${file}-${no}`;
    if (!existsSync(name)) return name;
  }
}
