import type { ScrollPositions } from "./scroll-positions.js";

/** The page must reach its former length within this time. */
const RESTORED_WITHIN_MS = 3_000;
/** Input that ends the restoring: the user scrolls. */
const USER_INPUT = ["wheel", "touchstart", "pointerdown", "keydown"] as const;

/** Restores the scroll position after Back and Forward, as soon as the page is long enough. Returns a function that stops it. */
export function restoreScroll(positions: ScrollPositions): () => void {
  // The browser restores it too early, before the page has its data.
  history.scrollRestoration = "manual";
  let frame = 0;
  const stop = () => {
    cancelAnimationFrame(frame);
    frame = 0;
  };
  const keep = () => {
    // While restoring, the page scrolls through positions that are not the user's.
    if (frame === 0) positions.keep("page", scrollY);
  };
  const restore = () => {
    stop();
    const wanted = positions.recall("page");
    const top = typeof wanted === "number" ? wanted : 0;
    const untilMs = performance.now() + RESTORED_WITHIN_MS;
    const scroll = () => {
      scrollTo(0, top);
      const isThere = Math.abs(scrollY - top) <= 1 || performance.now() > untilMs;
      frame = isThere ? 0 : requestAnimationFrame(scroll);
    };
    frame = requestAnimationFrame(scroll);
  };
  const release = () => {
    history.scrollRestoration = "auto";
  };
  addEventListener("scroll", keep, { passive: true });
  addEventListener("popstate", restore);
  addEventListener("pagehide", release);
  for (const event of USER_INPUT) addEventListener(event, stop, { passive: true });
  return () => {
    stop();
    release();
    removeEventListener("scroll", keep);
    removeEventListener("popstate", restore);
    removeEventListener("pagehide", release);
    for (const event of USER_INPUT) removeEventListener(event, stop);
  };
}
