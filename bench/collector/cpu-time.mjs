/** Answers a parent that sends `{mark: true}` and `{cpu: true}`: CPU seconds of all threads since the mark. */
export function answerCpuTime() {
  let before = process.cpuUsage();
  process.on("message", (message) => {
    if (message.mark) before = process.cpuUsage();
    else if (message.cpu) {
      const { user, system } = process.cpuUsage(before);
      process.send({ cpuSeconds: (user + system) / 1e6 });
    }
  });
}

/** Asks a server until it is idle. Resolves with its last answer, so that its CPU time includes what it does later. */
export async function askWhenIdle(server, idleSeconds = 0.03) {
  let before = await server.ask({ cpu: true });
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    const now = await server.ask({ cpu: true });
    if (now.cpuSeconds - before.cpuSeconds < idleSeconds) return now;
    before = now;
  }
}
