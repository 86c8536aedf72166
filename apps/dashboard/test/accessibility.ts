import axe from "axe-core";
import type { Page } from "playwright-core";

export const ALL_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
/** The rules that depend on colours. A theme changes nothing else. */
export const COLOR_RULES = ["color-contrast", "link-in-text-block"];

/** The rules that depend on where things are. A width changes nothing else but the navigation, which all pages share. */
export const LAYOUT_RULES = ["color-contrast", "target-size", "scrollable-region-focusable"];

/** What axe finds on the page as it is now. */
export async function violations(
  page: Page,
  rules: readonly string[] = ALL_RULES,
): Promise<readonly string[]> {
  // Through the debugger, which the page's security policy does not affect.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe.source);
  return page.evaluate(
    async (runOnly) => {
      const { axe: here } = window as unknown as { axe: typeof axe };
      const found = await here.run({ runOnly });
      return found.violations.flatMap(({ id, nodes }) =>
        nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")}: ${failureSummary}`),
      );
    },
    [...rules],
  );
}

/** Otherwise colours of the other theme would still be fading. The page's security policy allows no style element. */
export function switchTransitionsOff(page: Page): Promise<void> {
  return page.evaluate(() => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync("*, *::before, *::after { transition: none !important; }");
    document.adoptedStyleSheets.push(sheet);
  });
}
