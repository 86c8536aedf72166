/** The shortest input found that still fails: removes parts, halves first, then puts plain characters in the place of others. */
export async function shrink(input: string, fails: (input: string) => Promise<boolean>): Promise<string> {
  let tries = 2_000;
  const stillFails = async (candidate: string): Promise<boolean> => tries-- > 0 && (await fails(candidate));
  let smallest = input;
  for (let size = Math.ceil(smallest.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 0; at < smallest.length; ) {
      const candidate = smallest.slice(0, at) + smallest.slice(at + size);
      if (await stillFails(candidate)) smallest = candidate;
      else at += size;
    }
  }
  for (let at = 0; at < smallest.length; at++) {
    for (const plain of ["a", "0"]) {
      if (smallest[at] === plain) break;
      const candidate = smallest.slice(0, at) + plain + smallest.slice(at + 1);
      if (!(await stillFails(candidate))) continue;
      smallest = candidate;
      break;
    }
  }
  return smallest;
}
