import axe, { type AxeResults } from 'axe-core';
import { expect } from 'vitest';
import { faultsOf, LOOKS, outsideRequests, type Page, screenshot } from './browser.ts';

const GRAVE = ['serious', 'critical'];
/**
 * During a transition between color schemes, colors lack contrast. Scripts learn of the scheme when the next frame is drawn,
 * and may start transitions then.
 */
const FINISH_TRANSITIONS = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() =>
  document.getAnimations().forEach((one) => one instanceof CSSTransition && one.finish()))`;
const COLOR_RULES = ['color-contrast', 'link-in-text-block'];

export interface AccessibilityOptions {
  /** Parts of the page that are not checked, as CSS selectors. */
  except?: readonly string[];
  /** Ids of axe's rules that are not checked; give the reason beside them. */
  withoutRules?: readonly string[];
  /** 'only': for a page that was checked in other colors before. 'none': for one that was checked at another width. */
  colors?: 'only' | 'none';
}

/**
 * Fails unless the page, in each appearance, has loaded from its own service alone and without an error, is accessible and
 * as wide as the window. @param name of the screenshots, without the appearance.
 */
export async function expectUsable(page: Page, name: string): Promise<void> {
  for (const { look, width, colorScheme, ...only } of LOOKS) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    await page.evaluate(FINISH_TRANSITIONS);
    await expectAccessible(page, only);
    const scrollWidth = await page.evaluate('document.documentElement.scrollWidth');
    expect({ name, look, scrollWidth }).toEqual({ name, look, scrollWidth: width });
    await screenshot(page, `${name}-${look}`);
  }
  expect({ name, errors: faultsOf(page).errors }).toEqual({ name, errors: [] });
  expect(outsideRequests(page)).toEqual([]);
}

/** Fails with what axe finds on the page as it is now, where its impact is serious or critical. */
export async function expectAccessible(page: Page, options: AccessibilityOptions = {}): Promise<void> {
  const { except = [], withoutRules = [], colors } = options;
  const disabled = [...withoutRules, ...(colors === 'none' ? COLOR_RULES : [])];
  // The debugger evaluates it, so that the page's policy does not apply.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(axe.source);
  const settings = {
    rules: Object.fromEntries(disabled.map((id) => [id, { enabled: false }])),
    ...(colors === 'only' ? { runOnly: { type: 'rule', values: COLOR_RULES } } : {}),
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
