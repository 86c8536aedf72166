// Calls a handler as Lambda does: one invocation after the other, in one process.
const { handler } = await import(new URL(process.env.HANDLER, import.meta.url));
let left = 0;
for (let total = 1; total <= 5; total++) {
  const { statusCode, body } = await handler({ userId: "u1", total }, { awsRequestId: String(total) });
  if (statusCode !== 200) throw new Error(body);
  left = JSON.parse(body).queued;
}
console.log(`5 invocations, ${left} queued`);
// Lambda freezes the process here and never ends it.
process.exit();
