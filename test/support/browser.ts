import { mkdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core';
import { describe } from 'vitest';
import { findChromium } from './chromium.ts';

export type { Page } from 'playwright-core';

const SCREENSHOTS = resolve('test/screenshots');

const found = await findChromium();
if ('missing' in found) process.stderr.write(`Skipping what needs a browser: ${found.missing}.\n`);

export const hasBrowser = !('missing' in found);

/** `describe` for tests that need a browser; without one they are skipped, with a note that says why. */
export const describeInBrowser = describe.skipIf(!hasBrowser);

/** The appearances in which a page is checked. Two are enough, because no style depends on color and width (test/site/styles.test.ts). */
export const LOOKS = [
  { look: 'light', width: 1280, colorScheme: 'light' },
  { look: 'narrow-dark', width: 390, colorScheme: 'dark' },
] as const;

export interface PageOptions {
  /** Address of the service, for `page.goto('/docs')`. */
  baseURL?: string;
  /** In CSS pixels; 1280 by default. */
  width?: number;
  height?: number;
  colorScheme?: 'light' | 'dark';
  /** The session of somebody who has signed in to the service of `baseURL`. */
  session?: { name: string; value: string };
  /** Any other option of a Playwright context. */
  context?: BrowserContextOptions;
}

/** The faults and requests of a page since it was opened. */
export interface PageFaults {
  /** Errors and warnings on the console, and uncaught exceptions. */
  errors: string[];
  /** Every requested address, outside `data:` and `blob:`. */
  requests: string[];
}

export interface TestBrowser {
  /** A new page with cookies and storage of its own. Close it with `page.context().close()`. */
  page(options?: PageOptions): Promise<Page>;
  /** Closes its pages. */
  close(): Promise<void>;
}

const faults = new WeakMap<Page, PageFaults>();

/** The browser of this process, which ends with it: a start takes seconds. The pages of a test file share nothing with those of others. */
let launched: Promise<Browser> | null = null;

function launch(): Promise<Browser> {
  if ('missing' in found) throw new Error(`No Chromium: ${found.missing}.`);
  const isRoot = process.getuid?.() === 0;
  return chromium.launch({
    executablePath: found.command,
    // Chromium refuses its sandbox to root; /dev/shm is tiny in containers.
    args: [...(isRoot ? ['--no-sandbox'] : []), '--disable-dev-shm-usage'],
    handleSIGTERM: false,
  });
}

/** Chromium without a window. A test file opens one and closes it in `afterAll`. */
export async function openBrowser(): Promise<TestBrowser> {
  if (launched === null) {
    launched = launch();
    // Vitest stops its processes so, and kills them half a second later: at an exit, Playwright kills the browser and removes its profile.
    process.once('SIGTERM', () => process.exit());
  }
  const browser = await launched;
  const contexts: BrowserContext[] = [];
  return {
    async page({ baseURL, session, width = 1280, height = 800, colorScheme = 'light', context = {} } = {}) {
      const opened = await browser.newContext({
        ...(baseURL ? { baseURL } : {}),
        viewport: { width, height },
        colorScheme,
        reducedMotion: 'reduce',
        ...context,
      });
      contexts.push(opened);
      if (session && baseURL) await opened.addCookies([{ ...session, url: baseURL }]);
      const page = await opened.newPage();
      // Shorter than the limit of a test, so that the failure says what was waited for; long enough for a busy machine.
      page.setDefaultTimeout(60_000);
      faults.set(page, watch(page));
      return page;
    },
    async close() {
      for (const context of contexts.splice(0)) await context.close();
    },
  };
}

function watch(page: Page): PageFaults {
  const seen: PageFaults = { errors: [], requests: [] };
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) seen.errors.push(message.text());
  });
  page.on('pageerror', (error) => seen.errors.push(String(error)));
  page.context().on('request', (request) => {
    if (/^(?:https?|wss?):/.test(request.url())) seen.requests.push(request.url());
  });
  return seen;
}

/** @throws for a page that did not come from `openBrowser`. */
export function faultsOf(page: Page): PageFaults {
  const seen = faults.get(page);
  if (!seen) throw new Error('This page was not opened by openBrowser().');
  return seen;
}

/** The addresses that a page has requested from other services than its own. */
export function outsideRequests(page: Page): string[] {
  const { origin } = new URL(page.url());
  return faultsOf(page).requests.filter((url) => new URL(url).origin !== origin);
}

/** With SOUK_SCREENSHOTS=1, saves the whole page as test/screenshots/NAME.png. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (process.env.SOUK_SCREENSHOTS !== '1') return;
  await mkdir(SCREENSHOTS, { recursive: true });
  await page.screenshot({
    path: resolve(SCREENSHOTS, `${name}.png`),
    fullPage: true,
    animations: 'disabled',
  });
}
