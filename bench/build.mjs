import { fileURLToPath, pathToFileURL } from "node:url";

const OWN = fileURLToPath(new URL("../", import.meta.url));

/** Imports a built file, named from the top of the repository: of this clone, or of the folder in SLUICE_BENCH_BUILD. */
export function importBuilt(path) {
  return import(new URL(path, pathToFileURL(`${process.env.SLUICE_BENCH_BUILD ?? OWN}/`)).href);
}
