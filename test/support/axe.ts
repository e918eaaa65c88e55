import axe from 'axe-core';
import type { Page } from 'playwright-core';

/**
 * WCAG 2.0 to 2.2, levels A and AA, and what else axe-core knows to be good.
 */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'];

/**
 * What on the page somebody could not see, hear or reach: the rule, and where.
 * Empty when all is well.
 * @param only rules by their ids, where the others have been asked already
 */
export async function accessibilityFaults(
  page: Page,
  only?: readonly string[],
): Promise<string[]> {
  await page.evaluate(axe.source);
  const runOnly =
    only === undefined
      ? { type: 'tag', values: RULES }
      : { type: 'rule', values: only };
  const faults: unknown = await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(runOnly)}, resultTypes: ['violations'] }).then(({ violations }) =>
      violations.flatMap(({ id, nodes }) => nodes.slice(0, 3).map(({ target }) => id + ': ' + target.join(' '))))`,
  );
  return faults as string[];
}
