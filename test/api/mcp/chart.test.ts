import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { expectAccessible } from '../../support/accessibility.ts';
import { openView, type View } from '../../support/app-host.ts';
import { describeInBrowser, openBrowser, screenshot, type TestBrowser } from '../../support/browser.ts';
import { test as base } from '../../support/demo-souk-test.ts';
import { type Agent, connectAgent, ERAS, openAgent } from '../../support/mcp-client.ts';
import { KNOWN_WORD } from '../../support/operation-samples.ts';

const URI = 'ui://souk/chart.html';
const MIME_TYPE = 'text/html;profile=mcp-app';
const LARGEST_BYTES = 150_000;

const CHARTED = [
  'aba_get_word_detail',
  'aba_get_word_history',
  'market_get_product',
  'web_trends_interest_over_time',
];

const SERIES = ['new', 'salesRank', 'rating'].map((name) => `history.${name}`).join();
const HISTORY = { domain: 1, points: 100, rating: true, fields: `asin,title,${SERIES}` };

const test = base.extend('agent', { scope: 'file' }, async ({ demoSouk }, { onCleanup }): Promise<Agent> => {
  const agent = await openAgent(await demoSouk.client());
  onCleanup(() => agent.client.close());
  return agent;
});

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
type Result = { structuredContent?: any; content: any[]; isError?: boolean };

const called = async ({ client }: Agent, name: string, args: object): Promise<Result> =>
  (await client.callTool({ name, arguments: args as Record<string, unknown> })) as Result;

async function pageOf({ client }: Agent): Promise<string> {
  const { contents } = await client.readResource({ uri: URI });
  return (contents[0] as { text: string }).text;
}

describe('the page of a chart', () => {
  test('is named by the tools whose results have histories', async ({ demoSouk }) => {
    const { client } = await connectAgent(await demoSouk.client(), { toolsets: 'all' });
    const { tools } = await client.listTools();
    const named = tools.filter(({ _meta }) => _meta !== undefined);
    expect(named.map(({ name }) => name).sort()).toEqual(CHARTED);
    for (const { _meta } of named) expect(_meta).toEqual({ ui: { resourceUri: URI } });
  });

  test.for(ERAS)(
    'is declared, listed and read as the extension prescribes (%s)',
    async (era, { demoSouk }) => {
      const { client } = await connectAgent(await demoSouk.client(), { era });
      const ui = { csp: { connectDomains: [], resourceDomains: [] }, prefersBorder: true };
      expect(client.getServerCapabilities()?.extensions).toEqual({ 'io.modelcontextprotocol/ui': {} });
      const { resources } = await client.listResources();
      expect(resources).toEqual([
        { uri: URI, name: 'Chart', description: expect.any(String), mimeType: MIME_TYPE, _meta: { ui } },
      ]);
      const { contents } = await client.readResource({ uri: URI });
      expect(contents).toEqual([{ uri: URI, mimeType: MIME_TYPE, text: expect.any(String), _meta: { ui } }]);
      await expect(client.readResource({ uri: 'ui://souk/other.html' })).rejects.toThrow(/not found/i);
    },
  );

  test('has everything in it, and a limited size', async ({ agent }) => {
    const html = await pageOf(agent);
    expect(html).toMatch(/^<!doctype html>/);
    expect(Buffer.byteLength(html)).toBeLessThan(LARGEST_BYTES);
    // It closes as many scripts as it opens, so no content of a script ends it.
    expect(html.match(/<\/script/g)?.length).toBe(html.match(/<script/g)?.length);
    expect(html).not.toMatch(/<link|<img|<iframe|<script[^>]+src=|@import|url\(/);
  });

  test('changes no result: it is the same for a program that supports the extension', async ({
    agent,
    demoSouk,
  }) => {
    const { baseUrl, key } = await demoSouk.client();
    const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: [MIME_TYPE] } };
    const supporting = await openAgent({ baseUrl, key }, { capabilities: { extensions } });
    const call = { ...HISTORY, asins: ['B0C3CDEF01'] };
    const [one, other] = await Promise.all(
      [agent, supporting].map((who) => called(who, 'market_get_product', call)),
    );
    await supporting.client.close();
    const { _call: _, ...data } = other?.structuredContent ?? {};
    expect(one?.structuredContent).toMatchObject(data);
    expect(Object.keys(other ?? {})).toEqual(Object.keys(one ?? {}));
  });

  test('has the colors of the pages', () => {
    const valuesIn = (css: string) =>
      Object.fromEntries(
        [...css.matchAll(/(--[\w-]+): (#\w+);/g)].map(([, name = '', value]) => [name, value]),
      );
    const halves = (path: string, dark: string) => {
      const [light = '', rest = ''] = readFileSync(path, 'utf8').split(dark);
      return [valuesIn(light), valuesIn(rest.split('\n}')[0] ?? '')];
    };
    const pages = halves('src/site/assets/souk.css', '@media (prefers-color-scheme: dark)');
    const [light = {}, dark = {}] = halves('src/api/mcp/chart/view.css', ':root[data-theme="dark"]');
    expect(Object.keys(light).length).toBeGreaterThan(10);
    expect(Object.keys(dark)).toEqual(Object.keys(light));
    expect(pages).toMatchObject([light, dark]);
  });
});

describeInBrowser('a chart in a program that supports MCP Apps', () => {
  let browser: TestBrowser;
  beforeAll(async () => {
    browser = await openBrowser();
  });
  afterAll(() => browser.close());

  const open = async (agent: Agent, width = 1280): Promise<View> =>
    openView(browser, await pageOf(agent), { theme: 'light' }, { width });

  interface Drawn {
    tool: string;
    args: object;
    /** Numbers of the result by name of their series. */
    numbers(data: Result['structuredContent']): Record<string, number>;
  }

  type Points = [day: string, value: number | null][];

  const count = (values: unknown[]) => values.filter((value) => typeof value === 'number').length;
  const endOf = (points: Points) => Date.parse(points.at(-1)?.[0] ?? '');

  const DRAWN: readonly Drawn[] = [
    {
      tool: 'market_get_product',
      args: { ...HISTORY, asins: ['B0C3CDEF03'] },
      numbers({ products }) {
        const { history } = products[0] as { history: Record<string, Points> };
        const end = Math.max(...Object.values(history).filter(Array.isArray).map(endOf));
        const numbersOf = (points: Points = []) => {
          // The last value of a day counts, and the last value of all holds until the end of the chart.
          const values = [...new Map(points).values()];
          return count(endOf(points) < end ? [...values, values.at(-1)] : values);
        };
        const { new: price, salesRank, rating } = history;
        return { New: numbersOf(price), 'Sales rank': numbersOf(salesRank), Rating: numbersOf(rating) };
      },
    },
    {
      tool: 'aba_get_word_history',
      args: { wordId: KNOWN_WORD },
      numbers: ({ history }) => ({ Rank: count((history as { rank: unknown }[]).map(({ rank }) => rank)) }),
    },
    {
      tool: 'aba_get_word_detail',
      args: { wordId: KNOWN_WORD },
      numbers: ({ history }) => ({ Rank: count((history as { rank: unknown }[]).map(({ rank }) => rank)) }),
    },
    {
      tool: 'web_trends_interest_over_time',
      args: { keyword: ['kettle', 'teapot'], geo: 'US' },
      numbers: ({ timelineData }) => ({
        kettle: (timelineData as { rows: unknown[] }).rows.length,
        teapot: (timelineData as { rows: unknown[] }).rows.length,
      }),
    },
  ];

  const APPEARANCES = [
    { theme: 'light', width: 1280, color: '#0f766e' },
    { theme: 'light', width: 390, color: '#0f766e' },
    { theme: 'dark', width: 390, color: '#46b8ac' },
    { theme: 'dark', width: 1280, color: '#46b8ac' },
  ] as const;

  test.for(DRAWN)(
    'draws the points of $tool, in light and dark, wide and narrow',
    async ({ tool, args, numbers }, { agent }) => {
      const result = await called(agent, tool, args);
      const view = await open(agent);
      await view.show(result);
      const drawn = await view.drawnNumbers();
      const names = await view.frame.locator('.time-chart-series label').allInnerTexts();
      const byName = Object.fromEntries(names.map((text, i) => [text.split('\n')[0]?.trim(), drawn[i]]));
      const expected = numbers(result.structuredContent);
      expect(byName).toMatchObject(expected);
      for (const points of Object.values(expected)) expect(points).toBeGreaterThan(1);
      for (const [i, { theme, width, color }] of APPEARANCES.entries()) {
        await view.page.setViewportSize({ width, height: 800 });
        await view.change({ theme });
        await expect.poll(() => view.hasColor(color)).toBe(true);
        await expect.poll(() => view.frame.evaluate('document.documentElement.scrollWidth')).toBe(width);
        await expectAccessible(view.frame, { rules: i === 0 ? 'all' : 'appearance' });
        await screenshot(view.page, `mcp-app-${tool}-${theme}-${width}`);
      }
      expect(view.faults()).toEqual({ errors: [], requests: [] });
      await view.close();
    },
  );

  test('reads products from a table', async ({ agent }) => {
    const view = await open(agent);
    const asins = ['B1', 'B2', 'B3', 'B4'];
    const points = [
      ['2026-01-01', 1],
      ['2026-02-01', 2],
    ];
    const products = {
      columns: ['asin', 'history.new', { offers: ['sellerId'] }],
      rows: asins.map((asin) => [asin, points, [['A1']]]),
    };
    await view.show({ content: [], structuredContent: { domainId: 1, products } });
    await view.drawnNumbers();
    expect(await view.frame.getByLabel('Product').locator('option').allInnerTexts()).toEqual(asins);
    await view.close();
  });

  test('reports its height, so that the program shows all of it', async ({ agent }) => {
    const view = await open(agent, 390);
    await view.show(await called(agent, 'market_get_product', { ...HISTORY, asins: ['B0C3CDEF03'] }));
    await view.drawnNumbers();
    const height = (await view.frame.evaluate('document.body.getBoundingClientRect().height')) as number;
    await expect.poll(async () => (await view.heights()).at(-1)).toBe(Math.ceil(height));
    expect(await view.frame.evaluate('innerHeight - document.documentElement.scrollHeight')).toBe(0);
    await view.close();
  });

  test('fills a fixed height', async ({ agent }) => {
    const context = { theme: 'light', containerDimensions: { height: 700, width: 1280 } } as const;
    const view = await openView(browser, await pageOf(agent), context);
    await view.show(await called(agent, 'aba_get_word_detail', { wordId: KNOWN_WORD }));
    await view.drawnNumbers();
    expect(await view.frame.evaluate('document.documentElement.scrollHeight')).toBe(700);
    const plot = await view.frame.locator('.time-chart-plot').boundingBox();
    expect(plot?.height).toBeGreaterThan(400);
    await screenshot(view.page, 'mcp-app-fixed');
    await view.close();
  });

  test('follows a change of the theme, and the colors and font of the program', async ({ agent }) => {
    const view = await open(agent);
    await view.show(await called(agent, 'web_trends_interest_over_time', { keyword: ['kettle'], geo: 'US' }));
    await view.drawnNumbers();
    const variables = {
      '--color-background-primary': 'light-dark(#ffffff, #202020)',
      '--font-sans': 'monospace',
    };
    await view.change({ theme: 'dark', styles: { variables } });
    await view.frame.locator(':root[data-theme="dark"] .time-chart[data-drawn-ms]').waitFor();
    expect(await view.hasColor('#46b8ac')).toBe(true);
    const styleOf = (selector: string, property: string) =>
      view.frame.evaluate(`getComputedStyle(document.querySelector('${selector}')).${property}`);
    expect(await styleOf('html', 'backgroundColor')).toBe('rgb(32, 32, 32)');
    expect(await styleOf('body', 'fontFamily')).toBe('monospace');
    expect(view.faults().errors).toEqual([]);
    await view.close();
  });

  test('chooses one of several products, and hides a series', async ({ agent }) => {
    const view = await open(agent);
    const asins = ['B0C3CDEF01', 'B0C3CDEF03'];
    await view.show(await called(agent, 'market_get_product', { ...HISTORY, points: 40, asins }));
    await view.drawnNumbers();
    const choice = view.frame.getByLabel('Product');
    expect(await choice.locator('option').count()).toBe(2);
    await choice.selectOption({ index: 1 });
    await view.frame.locator('.time-chart[data-drawn-ms]').waitFor();
    expect(await choice.inputValue()).toBe('1');
    const plot = view.frame.locator('.time-chart-plot');
    expect(await plot.getAttribute('aria-valuetext')).toContain('Sales rank');
    await view.frame.getByRole('checkbox', { name: 'Sales rank' }).uncheck();
    await plot.press('ArrowLeft');
    expect(await plot.getAttribute('aria-valuetext')).not.toContain('Sales rank');
    await screenshot(view.page, 'mcp-app-several');
    await view.close();
  });

  test('shows a sentence before the result, and for results without a history', async ({ agent }) => {
    const view = await open(agent);
    const sentence = () => view.main.innerText();
    expect(await sentence()).toBe('The chart appears when the tool has answered.');
    await screenshot(view.page, 'mcp-app-waiting');
    const product = { domain: 1, asins: ['B0C3CDEF01'] };
    for (const [tool, args, expected] of [
      ['market_get_product', product, /^This answer has no history\. Ask for the price history/],
      ['market_get_product', { ...product, asins: ['ZX00000000'] }, /^No product was found\.$/],
      ['market_get_product', { ...product, dryRun: true }, /^The call would cost 1 units?\./],
      ['market_get_product', { domain: 99 }, /^The call failed: .*domain/],
      [
        'market_get_product',
        { ...product, detailLevel: 'full', decode: true },
        /^The answer is too large for a chart\./,
      ],
      ['aba_get_word_detail', { wordId: 1 }, /^The call failed: /],
    ] as const) {
      await view.show(await called(agent, tool, args));
      await expect.poll(sentence).toMatch(expected);
    }
    for (const [result, expected] of [
      [{ content: [] }, 'This answer has no history to draw.'],
      [{ content: [{ type: 'text', text: 'no JSON' }] }, 'This answer has no history to draw.'],
      [
        { content: [], structuredContent: { jobId: 'x', hint: 'x' } },
        'The call has not ended yet. Its answer follows as text.',
      ],
      [{ content: [], structuredContent: { timelineData: [] } }, 'Too few people searched for these words.'],
      [{ content: [], structuredContent: { history: [] } }, 'No week with this term is loaded.'],
    ] as const) {
      await view.show(result);
      await expect.poll(sentence).toBe(expected);
    }
    expect(view.faults()).toEqual({ errors: [], requests: [] });
    await view.close();
  });

  test('reads a result that has only its text', async ({ agent }) => {
    const view = await open(agent);
    const { content } = await called(agent, 'aba_get_word_history', { wordId: KNOWN_WORD });
    await view.show({ content });
    expect((await view.drawnNumbers())[0]).toBe(2);
    await view.close();
  });

  test('shows markup in a title as text', async ({ agent }) => {
    const view = await open(agent);
    const title = '<img src=x onerror=alert(1)> "kettle"';
    const history = {
      new: [
        ['2026-01-01', 1],
        ['2026-02-01', null],
        ['2026-03-01', 3],
      ],
    };
    await view.show({
      content: [],
      structuredContent: { domainId: 5, products: [{ asin: 'B1', title, history }] },
    });
    expect(await view.drawnNumbers()).toEqual([2]);
    expect(await view.frame.locator('h1').innerText()).toBe(`${title} · B1`);
    expect(await view.frame.locator('output').innerText()).toBe('¥3');
    await view.close();
  });

  test('adds shipping to a price, and shows a series that is not usually shown if there is no other', async ({
    agent,
  }) => {
    const view = await open(agent);
    const history = {
      warehouse: [
        ['time', 'value', 'shipping'],
        ['2026-01-01', 10, 4.99],
        ['2026-01-02', null, null],
        ['2026-01-03', 12, null],
      ],
      buyBoxSeller: [
        ['time', 'sellerId'],
        ['2026-01-01', 'A1'],
      ],
    };
    await view.show({ content: [], structuredContent: { domainId: 3, products: [{ asin: 'B1', history }] } });
    expect(await view.drawnNumbers()).toEqual([2]);
    expect(await view.frame.evaluate('plots.at(-1).data[1]')).toEqual([14.99, null, 12]);
    expect(await view.frame.locator('label').innerText()).toMatch(/^Warehouse\s+€12\.00$/);
    await view.close();
  });

  test('ends with the last known value, even if a lightning deal ends later', async ({ agent }) => {
    const view = await open(agent);
    const history = {
      new: [['2026-01-01', 20]],
      lightningDeal: [
        ['2026-01-02', 15],
        ['2999-01-01', null],
      ],
    };
    await view.show({ content: [], structuredContent: { domainId: 1, products: [{ asin: 'B1', history }] } });
    expect(await view.drawnNumbers()).toEqual([2, 1]);
    expect(await view.frame.locator('.time-chart-at').innerText()).toBe('2026-01-02');
    await view.close();
  });

  test('has a gap where a keyword has no data, and times for periods shorter than a day', async ({
    agent,
  }) => {
    const view = await open(agent);
    const at = (hour: number, value: number | null) => [
      new Date(Date.UTC(2026, 0, 1, hour)).toISOString(),
      value,
    ];
    const timelineData = { columns: ['date', 'kettle'], rows: [at(1, 40), at(2, null), at(3, 50)] };
    await view.show({ content: [], structuredContent: { geo: '', timelineData } });
    expect(await view.drawnNumbers()).toEqual([2]);
    expect(await view.frame.evaluate('plots.at(-1).data[1]')).toEqual([40, null, 50]);
    expect(await view.frame.locator('.time-chart-at').innerText()).toBe('2026-01-01 03:00 UTC');
    expect(await view.frame.locator('h1').innerText()).toBe('kettle · worldwide');
    await view.close();
  });

  test('answers the requests of the program', async ({ agent }) => {
    const view = await open(agent);
    expect(await view.page.evaluate('bridge.teardownResource({})')).toEqual({});
    expect(await view.page.evaluate('bridge.getAppVersion()')).toMatchObject({ name: 'souk-chart' });
    await view.tell('sendToolCancelled', { reason: 'the user stopped it' });
    await expect.poll(() => view.main.innerText()).toBe('The call was cancelled.');
    await view.close();
  });
});
