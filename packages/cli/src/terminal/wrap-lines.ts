/** Lines that are meant to be copied stay whole. */
const COMMAND_LINE = /^\s*\$ /;

/** Breaks lines between words so that none is wider than `columns`. The rest of a line keeps its indentation. */
export function wrapLines(text: string, columns: number): string {
  return text
    .split("\n")
    .flatMap((line) => (line.length <= columns || COMMAND_LINE.test(line) ? [line] : wrapLine(line, columns)))
    .join("\n");
}

function wrapLine(line: string, columns: number): string[] {
  const indentation = /^\s*/.exec(line)?.[0] ?? "";
  const lines: string[] = [];
  let current = indentation;
  for (const word of line.trim().split(" ")) {
    const isFirst = current === indentation;
    if (!isFirst && current.length + 1 + word.length > columns) {
      lines.push(current);
      current = indentation + word;
    } else current += isFirst ? word : ` ${word}`;
  }
  return [...lines, current];
}
