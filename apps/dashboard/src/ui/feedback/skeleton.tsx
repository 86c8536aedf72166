/** Grey lines in place of text that is loading, so that the page does not move later. */
export function Skeleton({ lines = 4, of = "text" }: { lines?: number; of?: "text" | "facts" }) {
  return (
    <div
      className={of === "facts" ? "skeleton skeleton-facts" : "skeleton"}
      role="status"
      aria-label="Loading"
    >
      {Array.from({ length: lines }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: all lines are equal
        <span key={index} />
      ))}
    </div>
  );
}
