import axe, { type AxeResults } from 'axe-core';
import { expect } from 'vitest';
import type { Page } from './browser.ts';

const GRAVE = ['serious', 'critical'];

export interface AccessibilityOptions {
  /** Parts of the page that are not ours to mend, as CSS selectors. */
  except?: readonly string[];
  /** Rules of axe that are not asked, by their ids; say why beside them. */
  withoutRules?: readonly string[];
}

/** Fails with what axe finds on the page as it is now, where its impact is serious or critical. */
export async function expectAccessible(page: Page, options: AccessibilityOptions = {}): Promise<void> {
  const { except = [], withoutRules = [] } = options;
  // Evaluated by the debugger, so that no policy of the page stands against it.
  await page.evaluate(axe.source);
  const rules = Object.fromEntries(withoutRules.map((id) => [id, { enabled: false }]));
  const run = `axe.run({ exclude: ${JSON.stringify(except.map((one) => [one]))} }, { rules: ${JSON.stringify(rules)}, resultTypes: ['violations'] })`;
  const { violations } = (await page.evaluate(run)) as AxeResults;
  const found = violations
    .filter(({ impact }) => GRAVE.includes(impact ?? ''))
    .flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`));
  expect(found, found.join('\n')).toEqual([]);
}
