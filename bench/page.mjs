/** Replaces what is between a marker of docs/benchmarks.md and the next end marker. */
export function pageWith(page, generated, mark = "tables") {
  return page.replace(
    new RegExp(`(<!-- ${mark} -->\\n)[\\s\\S]*?(\\n<!-- end -->)`),
    (_, start, end) => `${start}\n${generated}\n${end}`,
  );
}

/**
 * Replaces the sections of some benches, each up to the next heading or the end marker. One that is not there yet becomes the last. `how`:
 * when and how they were measured, if not as the head of the page says.
 */
export function pageWithSections(page, sections, how) {
  return sections.reduce((text, one) => {
    const start = text.indexOf(`\n## ${one.title}\n`) + 1;
    if (start === 0) return text.replace(/(?=\n\n<!-- end -->)/, () => `\n\n${section(one, how)}`);
    const rest = text.slice(start);
    return text.slice(0, start) + section(one, how) + rest.slice(rest.search(/\n\n(## |<!-- end -->)/));
  }, page);
}

function number(value) {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function section({ title, script, figures, skipped }, how) {
  const head = [`## ${title}`, "", `\`bench/${script}\``, "", ...(how === undefined ? [] : [how, ""])];
  if (skipped !== undefined) return [...head, `Skipped: ${skipped}.`].join("\n");
  const rows = figures.map(({ name, unit, ours, peer, peerName, ratio }) =>
    peerName === undefined
      ? `| ${name} | ${number(ours)} ${unit} | | |`
      : `| ${name} | ${number(ours)} ${unit} | ${peerName}: ${number(peer)} ${unit} | ${ratio.toFixed(2)} |`,
  );
  return [...head, "| what | Sluice | compared with | ratio |", "|---|---:|---:|---:|", ...rows].join("\n");
}

/** The generated part of the page: where and how it was measured, then a table for each bench. */
export function generatedPart(sections, conditions) {
  const facts = [
    ["machine", conditions.machine],
    ["load before the start", conditions.load],
    ["Node.js", conditions.node],
    ["compared with", conditions.versions],
    ["date", conditions.date],
    ["command", `\`${conditions.command}\``],
    ["rounds", conditions.rounds],
  ];
  const warnings = conditions.warnings.map((warning) => `**${warning}**\n`);
  return [
    ...warnings,
    "| condition | value |",
    "|---|---|",
    ...facts.map(([name, value]) => `| ${name} | ${value} |`),
    "",
    sections.map((one) => section(one)).join("\n\n"),
  ].join("\n");
}
