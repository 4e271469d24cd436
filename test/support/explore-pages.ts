import { expect, onTestFinished, vi } from 'vitest';
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
    { timeout: 60_000 },
  );
}
