import { open as openFloor } from "./floor.mjs";

export const open = (url) => openFloor(url, { gzip: true });
