import axe, { type AxeResults } from 'axe-core';
import { expect } from 'vitest';
import { faultsOf, LOOKS, outsideRequests, type Page, screenshot } from './browser.ts';

const GRAVE = ['serious', 'critical'];
/**
 * Colours that fade from one scheme to the other have no contrast on the way. Scripts hear of the scheme when the next frame
 * is drawn, and may start transitions then.
 */
const FINISH_TRANSITIONS = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() =>
  document.getAnimations().forEach((one) => one instanceof CSSTransition && one.finish()))`;
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

export interface AccessibilityOptions {
  /** Parts of the page that are not ours to mend, as CSS selectors. */
  except?: readonly string[];
  /** Rules of axe that are not asked, by their ids; say why beside them. */
  withoutRules?: readonly string[];
  /** Only the rules about colours, for a page that was checked in other colours before. */
  onlyColors?: boolean;
}

/**
 * Fails unless the page, in each appearance, has loaded from its own service alone and without an error, is accessible and
 * as wide as the window. @param name of the screenshots, without the appearance.
 */
export async function expectUsable(page: Page, name: string): Promise<void> {
  for (const { look, width, colorScheme } of LOOKS) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    await page.evaluate(FINISH_TRANSITIONS);
    await expectAccessible(page, { onlyColors: colorScheme === 'dark' });
    const scrollWidth = await page.evaluate('document.documentElement.scrollWidth');
    expect({ name, look, scrollWidth }).toEqual({ name, look, scrollWidth: width });
    await screenshot(page, `${name}-${look}`);
  }
  expect({ name, errors: faultsOf(page).errors }).toEqual({ name, errors: [] });
  expect(outsideRequests(page)).toEqual([]);
}

/** Fails with what axe finds on the page as it is now, where its impact is serious or critical. */
export async function expectAccessible(page: Page, options: AccessibilityOptions = {}): Promise<void> {
  const { except = [], withoutRules = [], onlyColors = false } = options;
  // Evaluated by the debugger, so that no policy of the page stands against it.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe.source);
  const settings = {
    rules: Object.fromEntries(withoutRules.map((id) => [id, { enabled: false }])),
    ...(onlyColors ? { runOnly: { type: 'rule', values: COLOR_RULES } } : {}),
    resultTypes: ['violations'],
  };
  const context = { exclude: except.map((one) => [one]) };
  const run = `axe.run(${JSON.stringify(context)}, ${JSON.stringify(settings)})`;
  const { violations } = (await page.evaluate(run)) as AxeResults;
  const found = violations
    .filter(({ impact }) => GRAVE.includes(impact ?? ''))
    .flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`));
  expect(found, found.join('\n')).toEqual([]);
}
