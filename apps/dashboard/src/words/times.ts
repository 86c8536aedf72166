import { duration } from "./numbers.js";

/** `just now`, `12 s ago`, `4 min ago`, `in 3 min`; the date after a week. */
export function relativeTime(atMs: number, nowMs: number): string {
  const distance = Math.abs(nowMs - atMs);
  if (distance < 1_000) return "just now";
  if (distance >= 7 * 86_400_000) return dateOf(atMs);
  const [first = "", unit = ""] = duration(Math.floor(distance / 1_000) * 1_000).split(" ");
  const rounded = `${Math.floor(Number(first))} ${unit}`;
  return atMs <= nowMs ? `${rounded} ago` : `in ${rounded}`;
}

/** `21 Nov 2026`, in the browser's time zone. */
export function dateOf(atMs: number): string {
  return new Date(atMs).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });
}

/** `21 Nov`, in the browser's time zone. */
export function dayOf(atMs: number): string {
  return new Date(atMs).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}

/** `14:03:27`, optionally with milliseconds or without seconds, in the browser's time zone. */
export function clockTime(atMs: number, precision: "min" | "s" | "ms" = "s"): string {
  const at = new Date(atMs);
  const two = (part: number) => String(part).padStart(2, "0");
  const minutes = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (precision === "min") return minutes;
  const seconds = `${minutes}:${two(at.getSeconds())}`;
  return precision === "s" ? seconds : `${seconds}.${String(at.getMilliseconds()).padStart(3, "0")}`;
}

/** `21 Nov 2026, 14:03:27.250`, in the browser's time zone. Returns an invalid time unchanged. */
export function localTime(iso: string): string {
  const atMs = Date.parse(iso);
  return Number.isNaN(atMs) ? iso : `${dateOf(atMs)}, ${clockTime(atMs, "ms")}`;
}

/** The text of a tooltip: browser's time zone and UTC, to the millisecond. */
export function exactTime(iso: string): string {
  const at = new Date(iso);
  return Number.isNaN(at.getTime()) ? iso : `${localTime(iso)} here · ${at.toISOString()}`;
}
