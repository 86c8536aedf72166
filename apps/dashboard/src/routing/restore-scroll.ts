import type { ScrollPositions } from "./scroll-positions.js";

/** How long a page may take to become as long as it was. */
const RESTORED_WITHIN_MS = 3_000;
/** What a person does to go elsewhere: then the page is theirs. */
const TAKEN_OVER_BY = ["wheel", "touchstart", "pointerdown", "keydown"] as const;

/** After Back and Forward a page is scrolled to where it was, once it is long enough for that. Answers how to stop. */
export function restoreScroll(places: ScrollPositions): () => void {
  // The browser does it too early: what the page shows is not there yet.
  history.scrollRestoration = "manual";
  let frame = 0;
  const stop = () => {
    cancelAnimationFrame(frame);
    frame = 0;
  };
  const keep = () => {
    // While it is being restored the page passes by places where nobody was.
    if (frame === 0) places.keep("page", scrollY);
  };
  const restore = () => {
    stop();
    const wanted = places.recall("page");
    const top = typeof wanted === "number" ? wanted : 0;
    const untilMs = performance.now() + RESTORED_WITHIN_MS;
    const scroll = () => {
      scrollTo(0, top);
      const isThere = Math.abs(scrollY - top) <= 1 || performance.now() > untilMs;
      frame = isThere ? 0 : requestAnimationFrame(scroll);
    };
    frame = requestAnimationFrame(scroll);
  };
  const leave = () => {
    history.scrollRestoration = "auto";
  };
  addEventListener("scroll", keep, { passive: true });
  addEventListener("popstate", restore);
  addEventListener("pagehide", leave);
  for (const event of TAKEN_OVER_BY) addEventListener(event, stop, { passive: true });
  return () => {
    stop();
    leave();
    removeEventListener("scroll", keep);
    removeEventListener("popstate", restore);
    removeEventListener("pagehide", leave);
    for (const event of TAKEN_OVER_BY) removeEventListener(event, stop);
  };
}
