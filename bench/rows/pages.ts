import { quantileSorted } from 'd3-array';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { addressFor } from '../../src/accounts/account-address.ts';
import { ensureAccount, findAccount } from '../../src/accounts/accounts.ts';
import { beginSession, SESSION_COOKIE } from '../../src/accounts/sessions.ts';
import { findChromium } from '../../test/support/chromium.ts';
import { watchMachine } from '../machine.ts';
import type { Row } from '../row.ts';
import type { Services } from '../services.ts';

/** The aims of a page: bytes with everything it loads, compressed; milliseconds of the server; milliseconds to the largest paint. */
const MOST = { bytes: 150_000, serverMs: 50, paintMs: 1_000 };

const SERVER_REQUESTS = 100;
const WARM_UP_REQUESTS = 20;
/** The median counts: a first paint also depends on the start of a process of the browser. */
const PAINTS = 5;

/** Pages of visitors. */
const OPEN_PAGES = [
  '/',
  '/pricing',
  '/docs',
  '/docs/product-data',
  '/docs/api',
  '/docs/api/market',
  '/status',
];

/** Pages of a customer, besides those that `dataPages` finds. */
const CUSTOMER_PAGES = [
  '/account',
  '/account/jobs',
  '/account/jobs/errors',
  '/account/usage',
  '/account/ledger',
  '/account/batches/new',
  '/account/trackers/new',
  '/account/plans',
  '/account/try',
];

/** Measures pages of an idle service with the demo provider, in Chromium with an empty cache. The figure is that of the worst page. */
export async function pagesRows(services: Services): Promise<Row[]> {
  const found = await findChromium();
  if ('missing' in found) throw new Error(`no Chromium: ${found.missing}`);
  const { ready: demo } = await services.start('demo/main.ts');
  const { url } = await services.startSouk(demo);
  const { accountId, cookie } = await customerOf(services);
  const browser = await chromium.launch({
    executablePath: found.command,
    args: [...(process.getuid?.() === 0 ? ['--no-sandbox'] : []), '--disable-dev-shm-usage'],
  });
  const isQuiet = await watchMachine(services.processes);
  try {
    const open = async (): Promise<BrowserContext> => {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
      await context.addCookies([{ ...cookie, url }]);
      return context;
    };
    const own = CUSTOMER_PAGES.map((path) => addressFor(accountId, path));
    const paths = [...OPEN_PAGES, ...own, ...(await dataPages(await open(), url))];
    const rows: Row[] = [];
    for (const path of paths) rows.push(await measured(url, path, cookie, open));
    const busy = await isQuiet();
    const worst = Math.max(...rows.map(({ ratio }) => ratio));
    return rows.map((row) => ({ ...row, busy, ...(row.ratio === worst && { figure: 'pages' as const }) }));
  } finally {
    await browser.close();
  }
}

/** An account with units, and the session of its owner. */
async function customerOf({ database, keys }: Services) {
  await keys(1);
  const accountId = await ensureAccount(database, 'bench-1@bench.example', 'Bench', Date.now());
  const account = await findAccount(database, accountId);
  const token = await beginSession(database, { personId: account?.ownerId ?? 0 }, Date.now());
  return { accountId, cookie: { name: SESSION_COOKIE, value: token } };
}

/** Fetches the data of some pages, as a customer does. @returns their addresses, and that of a call. */
async function dataPages(context: BrowserContext, url: string): Promise<string[]> {
  const page = await context.newPage();
  const paths: string[] = [];
  for (const address of ['/explore/product?domain=1&asin=B08N5WRWNX', '/explore/search?domain=1&term=pump']) {
    await page.goto(`${url}${address}`);
    await page.getByRole('button', { name: /unit/ }).first().click();
    await page.waitForURL(/=[0-9a-f]{8}-/);
    paths.push(pathOf(page));
  }
  await page.goto(`${url}/account/jobs`);
  await page.locator('main table a').first().click();
  await page.waitForURL(/jobs\/[0-9a-f-]{36}/);
  paths.push(pathOf(page));
  await context.close();
  return paths;
}

function pathOf(page: Page): string {
  const { pathname, search } = new URL(page.url());
  return pathname + search;
}

async function measured(
  url: string,
  path: string,
  { name, value }: { name: string; value: string },
  open: () => Promise<BrowserContext>,
): Promise<Row> {
  const headers = { cookie: `${name}=${value}`, 'accept-encoding': 'gzip' };
  const server: number[] = [];
  let failures = 0;
  for (let n = 0; n < WARM_UP_REQUESTS + SERVER_REQUESTS; n += 1) {
    const startedAt = performance.now();
    const response = await fetch(`${url}${path}`, { headers, redirect: 'manual' });
    await response.arrayBuffer();
    if (response.status !== 200) failures += 1;
    if (n >= WARM_UP_REQUESTS) server.push(performance.now() - startedAt);
  }
  const serverMs = quantileSorted(
    server.sort((a, b) => a - b),
    0.95,
  ) as number;
  const loads: { bytes: number; paintMs: number }[] = [];
  for (let n = 0; n < PAINTS; n += 1) loads.push(await loaded(await open(), `${url}${path}`));
  const paints = loads.map(({ paintMs }) => paintMs).sort((a, b) => a - b);
  const paintMs = paints[Math.floor(PAINTS / 2)] ?? 0;
  const bytes = Math.max(...loads.map((load) => load.bytes));
  return {
    what: `page ${path.replace(/^\/account\/\d+/, '/account').slice(0, 60)}`,
    ours: figures({ bytes, serverMs, paintMs }),
    baseline: figures(MOST),
    ratio: Math.max(bytes / MOST.bytes, serverMs / MOST.serverMs, paintMs / MOST.paintMs),
    aim: 'at most 1',
    failures,
  };
}

function figures({ bytes, serverMs, paintMs }: typeof MOST): string {
  return `${Math.round(bytes / 1000)} KB with everything, server p95 ${serverMs.toFixed(0)} ms, largest paint ${paintMs.toFixed(0)} ms`;
}

const LARGEST_PAINT = `new Promise((done) => {
  new PerformanceObserver((list) => done(list.getEntries().at(-1).startTime))
    .observe({ type: 'largest-contentful-paint', buffered: true });
})`;

/** Loads a page with an empty cache. */
async function loaded(context: BrowserContext, address: string): Promise<{ bytes: number; paintMs: number }> {
  const page = await context.newPage();
  const sizes: Promise<number>[] = [];
  page.on('requestfinished', (request) => {
    sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
  });
  await page.goto(address, { waitUntil: 'networkidle' });
  const paintMs = (await page.evaluate(LARGEST_PAINT)) as number;
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  await context.close();
  return { bytes, paintMs };
}
