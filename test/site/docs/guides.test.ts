import { describe, expect } from 'vitest';
import { openApiDocument } from '../../../src/api/openapi/document.ts';
import { createTestKey } from '../../../src/billing/test-wallet.ts';
import { QUEUED } from '../../../src/operations/index.ts';
import { ERRORS } from '../../../src/platform/errors.ts';
import { GUIDES, type Guide, guideText, renderGuide } from '../../../src/site/docs/guides.ts';
import { searchGuides } from '../../../src/site/docs/search.ts';
import { resultsOf } from '../../support/batches.ts';
import { type Client, createClient } from '../../support/client.ts';
import { testReportsLoaded } from '../../support/reports.ts';
import { curlRequests, shellExamples } from '../../support/shell-examples.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';

const paths = Object.keys(openApiDocument().paths);

/** Whether the OpenAPI document has an address. In a guide `...`, `$JOB` or `:wordId` may stand for a part of it. */
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

test.override('soukOptions', ({ demo }) => ({
  testUrl: demo.url,
  testReports: { weeks: { first: 2, others: 0 }, terms: 300 },
}));

describe.each(GUIDES)('guide $slug', (guide) => {
  const text = guideText(guide);
  const { html, headings } = renderGuide(guide);

  test('has its listed title as the only first-level heading', () => {
    expect(headings.filter(({ level }) => level === 1).map((heading) => heading.text)).toEqual([guide.title]);
    expect(new Set(headings.map(({ id }) => id)).size).toBe(headings.length);
  });

  test('names only addresses of the OpenAPI document', () => {
    const named = [...text.matchAll(/\/api\/[\w/{}$:.-]*[\w}.]/g)].map(([address]) => address);
    expect(named.filter((address) => !isDocumented(address))).toEqual([]);
  });

  test('links only to existing pages and headings', () => {
    const targets = new Set(['/docs', '/docs/api', '/openapi.json']);
    for (const other of GUIDES) {
      targets.add(`/docs/${other.slug}`);
      for (const { id } of renderGuide(other).headings) targets.add(`/docs/${other.slug}#${id}`);
    }
    for (const { id } of headings) targets.add(`#${id}`);
    const links = [...html.matchAll(/<a href="([^"]+)"/g)].map(([, href = '']) => href);
    expect(links.filter((href) => !targets.has(href) && !href.startsWith('https://'))).toEqual([]);
  });

  test('shows only valid JSON', () => {
    for (const [, json = ''] of text.matchAll(/^```json\n(.*?)^```$/gms))
      expect(JSON.parse(json)).toBeTypeOf('object');
  });
});

test('the price table has every operation that costs units', () => {
  const guide = GUIDES.find(({ slug }) => slug === 'prices-and-wallets') ?? GUIDES[0];
  const text = guide ? guideText(guide) : '';
  for (const { routes, price } of QUEUED) {
    const row = text.split('\n').find((line) => line.includes(` ${routes[0].path}\``));
    expect(row, routes[0].path).toMatch(new RegExp(`\\| ${price.text} \\|$`));
  }
});

describe('the guide of errors', () => {
  const guide = GUIDES.find(({ slug }) => slug === 'errors') as Guide;

  test('has the codes of the error list and of the OpenAPI document', () => {
    const listed = Object.values(ERRORS).map(({ code }) => code);
    const documented = openApiDocument()['x-errors'].map(({ code }) => code);
    const { headings } = renderGuide(guide);
    const described = headings.filter(({ level }) => level === 3).map(({ text }) => text);
    expect([...described].sort()).toEqual([...listed].sort());
    expect([...documented].sort()).toEqual([...listed].sort());
  });

  test('has a cause, a solution and the charge for every error', () => {
    const sections = guideText(guide).split('\n### ').slice(1);
    expect(sections).toHaveLength(Object.keys(ERRORS).length);
    for (const { code, text, units } of Object.values(ERRORS)) {
      const section = sections.find((one) => one.startsWith(`\`${code}\``)) ?? '';
      expect(section).toContain(text);
      expect(section).toMatch(/^- \*\*Cause:\*\* \S.*\.$/m);
      expect(section).toMatch(/^- \*\*Solution:\*\* \S.*\.$/m);
      expect(section).toMatch(units === 'none' ? /before units are reserved/ : /are released/);
    }
  });

  test('has an anchor for every code', () => {
    const { html } = renderGuide(guide);
    for (const { code } of Object.values(ERRORS)) expect(html).toContain(`<h3 id="${code.toLowerCase()}">`);
  });
});

describe('the search in guides', () => {
  test('finds the section whose heading has the words, before sections that mention them', () => {
    const [first] = searchGuides('signing secret');
    expect(first).toMatchObject({
      heading: 'Create a signing secret',
      address: '/docs/webhooks#create-a-signing-secret',
    });
  });

  test('an excerpt shows the first word', () => {
    for (const { excerpt, heading } of searchGuides('reservation'))
      expect(`${heading} ${excerpt}`.toLowerCase()).toContain('reservation');
  });

  test('finds nothing if a word is missing, and for a query without words', () => {
    expect(searchGuides('webhook zebra')).toEqual([]);
    expect(searchGuides('  a ')).toEqual([]);
  });

  test('a section after an example with a comment has its own address', () => {
    const addresses = searchGuides('python').map(({ address }) => address);
    expect(addresses).toContain('/docs/clients#python');
  });
});

/** Returns the data that an example leads to: the answer of an operation, of its job, or of the items of a batch. */
async function answersOf(client: Client, url: string, data: Record<string, unknown>): Promise<object[]> {
  const { jobId, batchId } = data;
  if (typeof batchId === 'string') {
    const view = () => client.get(`/api/batches/${batchId}`).then(({ json }) => json.data);
    await expect.poll(async () => (await view()).finishedAt ?? null, { timeout: 60_000 }).not.toBeNull();
    return resultsOf(client, { batchId }).then((items) => items.map((item) => item.data ?? {}));
  }
  if (typeof jobId === 'string') {
    const result = () => client.get(`/api/jobs/${jobId}/result?wait=30`);
    await expect.poll(async () => (await result()).status, { timeout: 60_000 }).toBe(200);
    const { headers, json } = await result();
    return headers['content-type']?.startsWith('application/json') ? [json.data] : [];
  }
  return OPERATION_PATHS.has(new URL(url).pathname) ? [data] : [];
}

const OPERATION_PATHS = new Set(QUEUED.flatMap(({ routes }) => routes.map(({ path }) => path)));

/** Lists that may be empty: a list of errors should be, the products of a keyword may stay the same, and a product may have no keyword. */
const MAYBE_EMPTY = new Set(['errors', 'entrants', 'leavers', 'keywords']);

/** Returns the names of the lists of an answer that are empty, but should not be. */
function emptyListsIn(data: object): string[] {
  return Object.entries(data).flatMap(([name, value]) => {
    if (MAYBE_EMPTY.has(name) || typeof value !== 'object' || value === null) return [];
    if (Array.isArray(value)) return value.length === 0 ? [name] : [];
    return name.endsWith('List') || name === 'deals' ? emptyListsIn(value) : [];
  });
}

describe('examples', () => {
  let souk: Souk;
  test.beforeAll(async ({ souk: opened }) => {
    souk = opened;
    await testReportsLoaded(souk, 2);
  });

  const withExamples = GUIDES.filter((guide) => shellExamples(guideText(guide)).length > 0);

  test.each(withExamples)('of $slug get responses with a status below 300', async (guide) => {
    // The guides tell their readers to begin with a test key.
    const { accountId } = await souk.account();
    const key = await createTestKey(souk.database, accountId, souk.clock.now());
    const env: Record<string, string> = { SOUK_URL: souk.clientOf(key).baseUrl, SOUK_API_KEY: key };
    let count = 0;
    for (const example of shellExamples(guideText(guide))) {
      // Webhook deliveries stay on this machine, where nothing listens on that port.
      const script = example
        .replaceAll('https://example.com/hook', 'http://127.0.0.1:1024/hook')
        .replaceAll('https%3A%2F%2Fexample.com%2Fhook', encodeURIComponent('http://127.0.0.1:1024/hook'))
        .replace(/^export .*$/gm, '');
      for (const { url, options } of await curlRequests(script, env)) {
        const { status, text, headers } = await createClient('', '').raw(url, options);
        expect(status, `${script}\n${text}`).toBeLessThan(300);
        count += 1;
        // Later examples use the ids as $JOB, $BATCH, $SCHEDULE and $TRACKER.
        // A part of a result is not a whole text of JSON.
        if (status === 206 || !headers['content-type']?.startsWith('application/json')) continue;
        const { data } = JSON.parse(text) as { data?: Record<string, string> };
        for (const answer of await answersOf(souk.clientOf(key), url, data ?? {}))
          expect(emptyListsIn(answer), script).toEqual([]);
        for (const name of ['JOB', 'BATCH', 'SCHEDULE', 'TRACKER'])
          env[name] = data?.[`${name.toLowerCase()}Id`] ?? env[name] ?? '';
      }
    }
    expect(count).toBeGreaterThan(0);
  });
});
