import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import { expect } from 'vitest';
import { faultsOf, LOOKS, outsideRequests, type Page, screenshot } from './browser.ts';
import { words } from './words.ts';

/** A page reads the whole text of axe in 500 ms, and this one in 300. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const GRAVE = ['serious', 'critical'];
/**
 * During a transition between color schemes, colors lack contrast. Scripts learn of the scheme when the next frame is drawn,
 * and may start transitions then.
 */
const FINISH_TRANSITIONS = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() =>
  document.getAnimations().forEach((one) => one instanceof CSSTransition && one.finish()))`;
/** Rules that may find something else in other colors, or at another width: a part scrolls then, or is hidden. */
const APPEARANCE_RULES = words(`
  color-contrast link-in-text-block scrollable-region-focusable target-size button-name link-name
  summary-name aria-hidden-focus label select-name
`);
/** Prepares axe in a page: only marked texts are measured, and rules that never have a grave impact take half of the time. */
const PREPARE = `(() => {
  const harmless = axe._audit.rules.filter(({ impact }) => impact && !${JSON.stringify(GRAVE)}.includes(impact));
  if (harmless.length < 10) throw new Error('axe names no impact of its rules');
  axe.configure({ rules: [
    { id: 'color-contrast', selector: '[data-contrast]' },
    ...harmless.map(({ id }) => ({ id, enabled: false })),
  ] });
})()`;
/** How many texts that look the same are measured. */
const MEASURED = 3;
/**
 * Marks the texts whose contrast is measured. Measuring takes most of the time, so only a few of the texts that look
 * the same are measured. Texts look the same if these styles of them, and of the elements around them, are equal.
 * Takes how many were measured before, by a hash of the look, and returns how many have been with these.
 */
const MARK_TEXTS = `((measured) => {
  const counts = new Map(measured);
  const isText = (one) => one.matches('input, select, textarea, button') ||
    [...one.childNodes].some(({ nodeType, data }) => nodeType === Node.TEXT_NODE && data.trim());
  const hashOf = (text) => {
    let [a, b] = [0, 5381];
    for (let i = 0; i < text.length; i += 1) {
      const code = text.charCodeAt(i);
      [a, b] = [Math.imul(a, 31) + code | 0, Math.imul(b, 33) ^ code];
    }
    return a + '/' + b;
  };
  const visit = (one, around) => {
    const style = getComputedStyle(one);
    const look = hashOf(around + ['color', 'backgroundColor', 'backgroundImage', 'opacity', 'fontSize', 'fontWeight', 'position', 'clip',
      'clipPath', 'visibility', 'display'].map((name) => style[name]));
    const count = counts.get(look) ?? 0;
    const isMeasured = isText(one) && count < ${MEASURED};
    if (isMeasured) counts.set(look, count + 1);
    one.toggleAttribute('data-contrast', isMeasured);
    for (const child of one.children) visit(child, look);
  };
  visit(document.documentElement, '');
  return [...counts];
})`;
/** The looks of texts with enough contrast, which were measured on the same page at earlier addresses, with their numbers. */
const measuredLooks = new WeakMap<Document, [look: string, count: number][]>();

/** A page, or a frame of it. */
type Document = Pick<Page, 'evaluate'>;

export interface AccessibilityOptions {
  /** Parts of the page that are not checked, as CSS selectors. */
  except?: readonly string[];
  /** Ids of axe's rules that are not checked; give the reason next to them. */
  withoutRules?: readonly string[];
  /** 'appearance': for a page that was checked in other colors and at another width. Default: all. */
  rules?: 'all' | 'appearance';
}

/**
 * Fails unless the page, in each appearance, has loaded from its own service alone and without an error, is accessible and
 * as wide as the window. @param name of the screenshots, without the appearance. @param pictureHosts other origins that the page
 * may load from.
 */
export async function expectUsable(
  page: Page,
  name: string,
  pictureHosts: readonly string[] = [],
): Promise<void> {
  // Begins as the page is.
  const isFirst = page.viewportSize()?.width !== LOOKS[1].width;
  for (const [i, { look, width, colorScheme }] of (isFirst ? LOOKS : LOOKS.toReversed()).entries()) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    await page.evaluate(FINISH_TRANSITIONS);
    await expectAccessible(page, { rules: i === 0 ? 'all' : 'appearance' });
    const scrollWidth = await page.evaluate('document.documentElement.scrollWidth');
    expect({ name, look, scrollWidth }).toEqual({ name, look, scrollWidth: width });
    await screenshot(page, `${name}-${look}`);
  }
  expect({ name, errors: faultsOf(page).errors }).toEqual({ name, errors: [] });
  expect(outsideRequests(page).filter((url) => !pictureHosts.includes(new URL(url).origin))).toEqual([]);
}

/** Fails with what axe finds on the page as it is now, where its impact is serious or critical. */
export async function expectAccessible(page: Document, options: AccessibilityOptions = {}): Promise<void> {
  const { except = [], withoutRules = [], rules = 'all' } = options;
  // The debugger evaluates it, so that the page's policy does not apply.
  if (await page.evaluate("typeof axe === 'undefined'")) {
    await page.evaluate(AXE);
    await page.evaluate(PREPARE);
  }
  const measured = JSON.stringify(measuredLooks.get(page) ?? []);
  const looks = (await page.evaluate(`${MARK_TEXTS}(${measured})`)) as [string, number][];
  const settings = {
    rules: Object.fromEntries(withoutRules.map((id) => [id, { enabled: false }])),
    ...(rules === 'all' ? {} : { runOnly: { type: 'rule', values: APPEARANCE_RULES } }),
    resultTypes: ['violations'],
    selectors: false,
  };
  const context = { exclude: except.map((one) => [one]) };
  const run = `axe.run(${JSON.stringify(context)}, ${JSON.stringify(settings)})`;
  const { violations } = (await page.evaluate(run)) as AxeResults;
  const found = violations
    .filter(({ impact }) => GRAVE.includes(impact ?? ''))
    .flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`));
  expect(found, found.join('\n')).toEqual([]);
  // Texts in a part that was left out were not measured.
  if (except.length === 0) measuredLooks.set(page, looks);
}
