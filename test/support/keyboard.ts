import { expect } from 'vitest';
import type { Page } from './browser.ts';

/**
 * What is wrong with the element that has the focus. It has to be the one or within the one that `expected` selects, if there is a
 * selector. Every element must be in the window, not covered, and have a visible ring.
 */
const LOOK = `(({ before }) => {
  const one = document.activeElement;
  const faults = [];
  const fault = (isBad, text) => isBad && faults.push(text);
  const rects = [...one.getClientRects()];
  const box = rects[0] ?? one.getBoundingClientRect();
  const style = getComputedStyle(one);
  fault(one === document.body, 'nothing has the focus');
  const width = style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth);
  const isMain = one.tagName === 'MAIN';
  fault(width < 2 && !(isMain && style.boxShadow !== 'none'), 'has no ring');
  // The sides of the ring that no container cuts off.
  const far = width + parseFloat(style.outlineOffset);
  let clip = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  for (let around = one.parentElement; around && style.position !== 'fixed'; around = around.parentElement) {
    if (around === document.body || getComputedStyle(around).overflow === 'visible') continue;
    const { left, top, right, bottom } = around.getBoundingClientRect();
    clip = { left: Math.max(clip.left, left), top: Math.max(clip.top, top), right: Math.min(clip.right, right), bottom: Math.min(clip.bottom, bottom) };
  }
  const sides = [box.left - far >= clip.left - 1, box.top - far >= clip.top - 1, box.right + far <= clip.right + 1, box.bottom + far <= clip.bottom + 1];
  fault(!isMain && sides.filter(Boolean).length < 2, 'has a ring that is cut off');
  const seen = { left: Math.max(box.left, clip.left), top: Math.max(box.top, clip.top), right: Math.min(box.right, clip.right), bottom: Math.min(box.bottom, clip.bottom) };
  const height = seen.bottom - seen.top;
  fault(seen.right <= seen.left || height <= 0 || (box.height <= 100 && height < box.height - 1), 'is outside the window');
  const top = document.elementFromPoint((seen.left + seen.right) / 2, (seen.top + seen.bottom) / 2);
  fault(top && !one.contains(top) && !top.contains(one), 'is covered by ' + top?.outerHTML.slice(0, 80));
  const previous = window.walked;
  window.walked = one;
  fault(before && previous?.isConnected && previous !== one && !(previous.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING),
    'comes before the last element');
  return { faults, tag: one.outerHTML.slice(0, 150) };
})`;

/** Somebody who uses a page with the keyboard alone. Each step checks that the focus is on a visible element with a visible ring. */
export interface Keyboard {
  /** Presses Tab until an element that a selector matches has the focus. @returns how often. @throws after `most` presses. */
  tabTo(selector: string, most?: number): Promise<number>;
  /** The same backwards, with Shift+Tab. */
  backTo(selector: string, most?: number): Promise<number>;
  /** From the start of a page to its content, by the first link of the page. */
  skip(): Promise<void>;
  /** Presses a key. */
  press(key: string): Promise<void>;
  type(text: string): Promise<void>;
  /** Waits until an element that a selector matches has the focus, for example after the answer to a form. */
  isAt(selector: string): Promise<void>;
}

/** From the start of the content of a page to what it is for. */
const MOST_PRESSES = 25;

export function keyboardOf(page: Page): Keyboard {
  async function look(isForward: boolean): Promise<void> {
    const { faults, tag } = (await page.evaluate(`${LOOK}({ before: ${isForward} })`)) as {
      faults: string[];
      tag: string;
    };
    expect({ at: page.url(), tag, faults }).toEqual({ at: page.url(), tag, faults: [] });
  }
  const isAt = (selector: string) =>
    page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`) as Promise<boolean>;

  async function moveTo(key: 'Tab' | 'Shift+Tab', selector: string, most: number): Promise<number> {
    const seen: string[] = [];
    for (let presses = 1; presses <= most; presses += 1) {
      await page.keyboard.press(key);
      await look(key === 'Tab');
      if (await isAt(selector)) return presses;
      seen.push((await page.evaluate('document.activeElement.outerHTML.slice(0, 90)')) as string);
    }
    throw new Error(
      `${most} presses of ${key} on ${page.url()} do not lead to ${selector}:\n${seen.join('\n')}`,
    );
  }

  return {
    tabTo: (selector, most = MOST_PRESSES) => moveTo('Tab', selector, most),
    backTo: (selector, most = MOST_PRESSES) => moveTo('Shift+Tab', selector, most),
    async skip() {
      expect(await moveTo('Tab', '.skip', 1)).toBe(1);
      await page.keyboard.press('Enter');
      await this.isAt('main, main h1');
    },
    press: (key) => page.keyboard.press(key),
    type: (text) => page.keyboard.type(text),
    async isAt(selector) {
      await expect.poll(() => isAt(selector).catch(() => false), { timeout: 60_000 }).toBe(true);
      await look(false);
    },
  };
}
