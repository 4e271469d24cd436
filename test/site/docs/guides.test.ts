import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import { QUEUED } from '../../../src/operations/index.ts';
import { GUIDES, guideText, renderGuide } from '../../../src/site/docs/guides.ts';
import { type Client, createClient } from '../../support/client.ts';
import { type Demo, openDemo } from '../../support/demo-provider.ts';
import { curlRequests, shellExamples } from '../../support/shell-examples.ts';
import { openSouk, type Souk } from '../../support/souk.ts';

const paths = Object.keys(openApiDocument().paths);

/** An address as a guide writes it, `...`, `$JOB` or `:wordId` standing for a part, as the document has it. */
function isDocumented(address: string): boolean {
  const parts = address.split('/');
  return paths.some((path) => {
    const known = path.split('/');
    return (
      known.length === parts.length &&
      known.every(
        (part, i) =>
          part === parts[i] ||
          (part.startsWith('{') && /^(?:\.\.\.|[$:{]|[0-9a-f-]{36}$)/.test(parts[i] ?? '')),
      )
    );
  });
}

describe.each(GUIDES)('the guide $slug', (guide) => {
  const text = guideText(guide);
  const { html, headings } = renderGuide(guide);

  test('has the title of its list as its only heading of the first level', () => {
    expect(headings.filter(({ level }) => level === 1).map((heading) => heading.text)).toEqual([guide.title]);
    expect(new Set(headings.map(({ id }) => id)).size).toBe(headings.length);
  });

  test('names only addresses that there are', () => {
    const named = [...text.matchAll(/\/api\/[\w/{}$:.-]*[\w}.]/g)].map(([address]) => address);
    expect(named.filter((address) => !isDocumented(address))).toEqual([]);
  });

  test('links only to guides and headings that there are', () => {
    const targets = new Set(['/docs', '/docs/api', '/openapi.json']);
    for (const other of GUIDES) {
      targets.add(`/docs/${other.slug}`);
      for (const { id } of renderGuide(other).headings) targets.add(`/docs/${other.slug}#${id}`);
    }
    const links = [...html.matchAll(/<a href="([^"]+)"/g)].map(([, href = '']) => href);
    expect(links.filter((href) => !targets.has(href) && !href.startsWith('https://'))).toEqual([]);
  });

  test('shows JSON that is JSON', () => {
    for (const [, json = ''] of text.matchAll(/^```json\n(.*?)^```$/gms))
      expect(JSON.parse(json)).toBeTypeOf('object');
  });
});

test('every operation that costs units is in the table of prices', () => {
  const guide = GUIDES.find(({ slug }) => slug === 'prices-and-wallets') ?? GUIDES[0];
  const text = guide ? guideText(guide) : '';
  for (const { routes, price } of QUEUED) {
    const row = text.split('\n').find((line) => line.includes(` ${routes[0].path}\``));
    expect(row, routes[0].path).toMatch(new RegExp(`\\| ${price.text} \\|$`));
  }
});

describe('the examples of the guides', () => {
  let demo: Demo;
  let souk: Souk;
  let client: Client;
  beforeAll(async () => {
    demo = await openDemo();
    souk = await openSouk({ upstreamUrl: demo.url });
    client = await souk.client();
  });
  afterAll(async () => {
    await souk.close();
    await demo.close();
  });

  const withExamples = GUIDES.filter((guide) => shellExamples(guideText(guide)).length > 0);

  test.each(withExamples)('of $slug are answered', async (guide) => {
    const env: Record<string, string> = { SOUK_URL: client.baseUrl, SOUK_API_KEY: client.key };
    let count = 0;
    for (const example of shellExamples(guideText(guide))) {
      // Nobody listens there: what is sent in the background leaves this machine alone.
      const script = example
        .replaceAll('https://example.com/hook', 'http://127.0.0.1:1024/hook')
        .replaceAll('https%3A%2F%2Fexample.com%2Fhook', encodeURIComponent('http://127.0.0.1:1024/hook'))
        .replace(/^export .*$/gm, '');
      for (const { url, options } of await curlRequests(script, env)) {
        const { status, text, headers } = await createClient('', '').raw(url, options);
        expect(status, `${script}\n${text}`).toBeLessThan(300);
        count += 1;
        // What the guide calls JOB, BATCH and SCHEDULE.
        if (!headers['content-type']?.startsWith('application/json')) continue;
        const { data } = JSON.parse(text) as { data?: Record<string, string> };
        for (const name of ['JOB', 'BATCH', 'SCHEDULE'])
          env[name] = data?.[`${name.toLowerCase()}Id`] ?? env[name] ?? '';
      }
    }
    expect(count).toBeGreaterThan(0);
  });
});
