/** Grey lines where text will be: what comes takes their place without moving the rest. */
export function Skeleton({ lines = 4, of = "text" }: { lines?: number; of?: "text" | "facts" }) {
  return (
    <div
      className={of === "facts" ? "skeleton skeleton-facts" : "skeleton"}
      role="status"
      aria-label="Loading"
    >
      {Array.from({ length: lines }, (_, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
        <span key={index} />
      ))}
    </div>
  );
}
