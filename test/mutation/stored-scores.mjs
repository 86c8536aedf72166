const ROW = /^\| ([a-z-]+) \| (\d+) \| (\d+) \| (\d+) \| (\d+) \| [^|]* \| ([^|]*) \|$/gm;

/** The page whose table keeps the scores. */
export const SCORES_PAGE = "docs/contributing/mutation.md";

export const TABLE_HEAD = [
  "| module | mutants | killed | explained | survived | score | on |",
  "| --- | --- | --- | --- | --- | --- | --- |",
];

/** A score as a row of the table. `on`: the day of the run. */
export function rowOf({ name, mutants, killed, explained, survived, on = "" }) {
  return `| ${name} | ${mutants} | ${killed} | ${explained} | ${survived} | ${percentOf(killed, mutants)} | ${on} |`;
}

function percentOf(killed, mutants) {
  return mutants === 0 ? "" : `${((100 * killed) / mutants).toFixed(1)} %`;
}

/** The scores in a page's table, by module. */
export function storedScores(page) {
  return new Map(
    Array.from(page.matchAll(ROW), ([, name, ...cells]) => {
      const [mutants, killed, explained, survived] = cells.map(Number);
      return [name, { name, mutants, killed, explained, survived, on: cells.at(-1) }];
    }),
  );
}

/** The page with new rows for these modules, in the order of `names`. The other rows stay. */
export function withScores(page, scores, names) {
  const rows = storedScores(page);
  for (const score of scores) rows.set(score.name, score);
  const table = [...TABLE_HEAD, ...names.flatMap((name) => rowFrom(rows, name))].join("\n");
  const [head] = TABLE_HEAD;
  const start = page.indexOf(head);
  if (start < 0) throw new Error(`${SCORES_PAGE} has no table that begins with "${head}".`);
  const end = page.indexOf("\n\n", start);
  return page.slice(0, start) + table + (end < 0 ? "\n" : page.slice(end));
}

function rowFrom(rows, name) {
  const score = rows.get(name);
  return score === undefined ? [] : [rowOf(score)];
}

/** Says how a score differs from the stored one; undefined if it does not. */
export function differenceFrom(stored, score) {
  if (stored === undefined) return `${score.name}: no score is stored. Store it with --write.`;
  const [was, is] = [rowOf({ ...stored, on: score.on }), rowOf(score)];
  return was === is
    ? undefined
    : `${score.name}: the score differs from the stored one. If it should, store it with --write.\n  - ${was}\n  + ${is}`;
}

/** One score for all modules. */
export function totalOf(scores) {
  const sum = (count) => scores.reduce((total, score) => total + score[count], 0);
  const [mutants, killed, explained, survived] = ["mutants", "killed", "explained", "survived"].map(sum);
  return { name: "all", mutants, killed, explained, survived };
}
