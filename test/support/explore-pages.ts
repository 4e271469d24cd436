import { expect, onTestFinished, vi } from 'vitest';
import { expectAccessible } from './accessibility.ts';
import { faultsOf, hasBrowser, openBrowser, screenshot } from './browser.ts';
import type { Customer } from './customer.ts';
import type { Souk } from './souk.ts';
import type { VisitedPage, Visitor } from './visitor.ts';

/** Makes the calls of all parts of a page for looking at data, one after the other, as they appear. @returns the page with the data. */
export async function withAllData(souk: Souk, { visitor }: Customer, address: string): Promise<VisitedPage> {
  // Calls to the trends site are paced.
  const ticking = setInterval(() => souk.clock.advance(100), 20);
  onTestFinished(() => clearInterval(ticking));
  const called = new Set<string>();
  let page = await visitor.get(address);
  for (;;) {
    const offered = [...page.html.matchAll(/name="view" value="([^"]+)"/g)].map(([, view]) => view);
    // A call that has failed could be made again.
    const view = offered.find((one) => one !== undefined && !called.has(one));
    if (view === undefined) return page;
    called.add(view);
    const { pathname, searchParams } = new URL(page.path, 'http://souk');
    page = await ended(visitor, await visitor.post(pathname, { ...Object.fromEntries(searchParams), view }));
  }
}

/** The page when its calls have ended. */
async function ended(visitor: Visitor, page: VisitedPage): Promise<VisitedPage> {
  if (!page.html.includes('aria-busy="true"')) return page;
  return vi.waitFor(
    async () => {
      const next = await visitor.get(page.path);
      expect(next.html).not.toContain('aria-busy="true"');
      return next;
    },
    // A page with data takes long to write, so it is not asked for more often.
    { timeout: 60_000, interval: 200 },
  );
}

/** A narrow, dark window of a browser, in which customers look at pages. */
export interface Viewer {
  /** Fails unless the page loads without an error and is as wide as the window. @param name of the screenshot. */
  see(customer: Customer, address: string, name: string): Promise<void>;
  close(): Promise<void>;
}

const NARROW = 390;

/** Opens a viewer. Without a browser it sees nothing. With SOUK_SCREENSHOTS=1 it also checks the accessibility. */
export async function openViewer(): Promise<Viewer> {
  if (!hasBrowser) return { see: async () => {}, close: async () => {} };
  const browser = await openBrowser();
  const page = await browser.page({ width: NARROW, colorScheme: 'dark' });
  return {
    async see({ client: { baseUrl }, cookie }, address, name) {
      await page.context().addCookies([{ ...cookie, url: baseUrl }]);
      await page.goto(`${baseUrl}${address}`);
      await page.locator('main h1').waitFor();
      const scrollWidth = await page.evaluate('document.documentElement.scrollWidth');
      expect({ name, scrollWidth }).toEqual({ name, scrollWidth: NARROW });
      expect({ name, errors: faultsOf(page).errors }).toEqual({ name, errors: [] });
      if (process.env.SOUK_SCREENSHOTS === '1') await expectAccessible(page);
      await screenshot(page, name);
    },
    close: () => browser.close(),
  };
}
