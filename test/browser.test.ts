import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectAccessible } from './support/accessibility.ts';
import {
  describeInBrowser,
  faultsOf,
  openBrowser,
  outsideRequests,
  type TestBrowser,
} from './support/browser.ts';

/** A page with all the faults that tests of pages look for, under a policy that lets no script in. */
const FAULTY = `<!doctype html><html lang="en"><title>Faulty</title><main><h1>Faulty</h1>
<img src="http://elsewhere.invalid/pixel.png"><p id="scheme">here</p></main></html>`;
const SOUND = '<!doctype html><html lang="en"><title>Sound</title><main><h1>Sound</h1></main></html>';

describeInBrowser('a page in the browser of the tests', () => {
  let server: Server;
  let browser: TestBrowser;
  let baseURL: string;
  beforeAll(async () => {
    server = createServer((request, response) => {
      response.setHeader('content-security-policy', "default-src 'none'; img-src *");
      response.setHeader('content-type', 'text/html');
      response.end(request.url === '/faulty' ? FAULTY : SOUND);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser.close();
    server.close();
  });

  test('reports requests to other hosts, and errors', async () => {
    const page = await browser.page({ baseURL });
    await page.goto('/faulty');
    expect(outsideRequests(page)).toEqual(['http://elsewhere.invalid/pixel.png']);
    expect(faultsOf(page).errors.length).toBeGreaterThan(0);
    const sound = await browser.page({ baseURL });
    await sound.goto('/sound');
    expect(outsideRequests(sound)).toEqual([]);
    expect(faultsOf(sound).errors).toEqual([]);
  });

  test('is checked by axe, even if its policy allows no scripts', async () => {
    const page = await browser.page({ baseURL });
    await page.goto('/faulty');
    await expect(expectAccessible(page)).rejects.toThrow('image-alt');
    await expectAccessible(page, { except: ['img'] });
    await page.goto('/sound');
    await expectAccessible(page);
  });

  test.each([
    ['of a color that no other text has', '', 'ccc'],
    ['on a background of its own', 'background: #000', '333'],
    ['that is transparent', 'opacity: 0.2', '000'],
  ])('is checked for the contrast of each text that looks different: one %s', async (_, around, color) => {
    const page = await browser.page({ baseURL });
    await page.goto('/sound');
    const write = (style: string, around = '') =>
      page.evaluate(`(() => {
        const [outer, text] = [document.createElement('div'), document.createElement('p')];
        outer.style.cssText = '${around}';
        text.style.cssText = '${style}';
        text.textContent = 'Read this';
        outer.append(text);
        document.querySelector('main').append(outer);
      })()`);
    for (let i = 0; i < 5; i += 1) await write(`color: #${color === 'ccc' ? '000' : color}`);
    await expectAccessible(page);
    await write(`color: #${color}`, around);
    await expect(expectAccessible(page)).rejects.toThrow('color-contrast');
  });

  test('has the requested width and colour scheme', async () => {
    const page = await browser.page({ baseURL, width: 390, colorScheme: 'dark' });
    await page.goto('/sound');
    expect(await page.evaluate('innerWidth')).toBe(390);
    expect(await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")).toBe(true);
  });
});
