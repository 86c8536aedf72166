import { open as openPlain } from "./sluice.mjs";

export const open = (url) => openPlain(url, { gzip: true });
