import { Session } from "node:inspector/promises";

/** Ends one of this process's threads that work, as an error in it would. */
export async function endThread(): Promise<void> {
  const session = new Session();
  session.connect();
  const ended = Promise.withResolvers<void>();
  let chosen: string | undefined;
  session.on("NodeWorker.attachedToWorker", ({ params: { sessionId, workerInfo } }) => {
    if (chosen !== undefined || !workerInfo.title.includes("sluice-worker")) return;
    chosen = sessionId;
    const call = { id: 1, method: "Runtime.evaluate", params: { expression: "process.exit(1)" } };
    void session
      .post("NodeWorker.sendMessageToWorker", { sessionId, message: JSON.stringify(call) })
      .catch(ended.reject);
  });
  session.on("NodeWorker.detachedFromWorker", ({ params }) => {
    if (params.sessionId === chosen) ended.resolve();
  });
  await session.post("NodeWorker.enable", { waitForDebuggerOnStart: false });
  await ended.promise;
  session.disconnect();
}
