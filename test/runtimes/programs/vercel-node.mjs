// The recipe for Vercel as a Node.js function: responses first, then what the function asked Vercel to wait for.
const kept = [];
globalThis[Symbol.for("@vercel/request-context")] = { get: () => ({ waitUntil: (work) => kept.push(work) }) };
const { POST } = await import("./vercel.mjs");
for (let total = 1; total <= 5; total++) {
  const body = JSON.stringify({ userId: "u1", total });
  const { status } = await POST(new Request("http://localhost/", { method: "POST", body }));
  if (status !== 200) throw new Error(String(status));
}
await Promise.all(kept);
console.log("5 invocations");
// Vercel suspends the process here and never ends it.
process.exit();
