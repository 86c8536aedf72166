const WIDTH = 30;

/** Shows a progress bar on a terminal, and otherwise prints a line for each tenth. */
export function progressBar(total, stream = process.stderr) {
  let lastTenth = -1;
  return {
    show(done, label) {
      const share = total === 0 ? 1 : done / total;
      const text = `${String(done).padStart(String(total).length)} / ${total}  ${label}`;
      if (stream.isTTY) {
        const filled = Math.round(share * WIDTH);
        stream.write(`\r${"█".repeat(filled)}${"░".repeat(WIDTH - filled)}  ${text}\u001b[K`);
        return;
      }
      const tenth = Math.floor(share * 10);
      if (tenth === lastTenth) return;
      lastTenth = tenth;
      stream.write(`${text}\n`);
    },
    end() {
      if (stream.isTTY) stream.write("\n");
    },
  };
}
