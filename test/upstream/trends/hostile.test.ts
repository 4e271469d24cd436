import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { TrendsContext } from '../../../src/upstream/trends/trends.ts';
import type { UpstreamAnswer } from '../../support/scripted-upstream.ts';
import {
  guarded,
  openTrendsClient,
  question,
  REFUSALS,
  type TrendsClient,
} from '../../support/trends-client.ts';

const PAGE = 'trends/explore';
const EXPLORE = 'trends/api/explore';
const SERIES = 'trends/api/widgetdata/multiline';
const RELATED = 'trends/api/widgetdata/relatedsearches';

const SERIES_WIDGET = { id: 'TIMESERIES', type: 'fe_line_chart', request: { a: 1 }, token: 't' };
const WIDGETS = guarded({ widgets: [SERIES_WIDGET] });
const POINTS = guarded({
  default: { timelineData: [{ time: '1767225600', value: [100, 3], hasData: [true, true] }] },
});

let client: TrendsClient;
beforeEach(async () => {
  client = await openTrendsClient();
  client.upstream.on(PAGE, () => REFUSALS.gate);
  client.upstream.on(EXPLORE, () => WIDGETS);
  client.upstream.on(SERIES, () => POINTS);
});
afterEach(() => client.close());

const ask = (context: TrendsContext = client.context()) =>
  client.trends.interestOverTime(question(), context);
const times = (path: string) => client.upstream.callsTo(path).length;

describe('uses the cookie of the page and ignores the rest of the response:', () => {
  const html = '<html lang="en">hello</html>';
  const cookie = { 'set-cookie': 'NID=511=fresh; path=/' };
  const away = 'https://consent.google.com/ml?continue=https://trends.google.com/sorry/trends';
  const pages: [name: string, answer: UpstreamAnswer][] = [
    ['status 500', { status: 500, raw: html, headers: cookie }],
    ['a redirect to a page about consent', { status: 302, raw: '', headers: { ...cookie, location: away } }],
    ['status 200 with a location', { raw: html, headers: { ...cookie, location: '/trends/explore' } }],
    ['a wrong content encoding', { raw: html, headers: { ...cookie, 'content-encoding': 'gzip' } }],
    ['a response above the size limit', { raw: Buffer.alloc(17 << 20, 'x'), headers: cookie }],
  ];
  test.each(pages)('%s', async (_, answer) => {
    client.upstream.on(PAGE, () => answer);
    expect((await ask()).points).toHaveLength(1);
    expect(client.upstream.callsTo(EXPLORE).map((call) => call.cookie)).toEqual(['NID=511=fresh']);
  });

  test('a response that never ends', async () => {
    client.upstream.on(PAGE, (_, response) => {
      response.writeHead(429, { 'content-type': 'text/html', ...cookie });
      response.write('<html>');
      return 'handled';
    });
    expect((await ask()).points).toHaveLength(1);
    expect(client.upstream.callsTo(EXPLORE).map((call) => call.cookie)).toEqual(['NID=511=fresh']);
  });

  test('or the cookie of explore, if the connection for the page breaks', async () => {
    client.upstream.on(PAGE, (_, response) => {
      response.destroy();
      return 'handled';
    });
    client.upstream.on(EXPLORE, (call) => (call.cookie === '' ? REFUSALS.gate : WIDGETS));
    expect((await ask()).points).toHaveLength(1);
    expect(client.upstream.callsTo(EXPLORE).map((call) => call.cookie)).toEqual(['', 'NID=511=fresh']);
  });
});

test('treats a missing cookie as rate limiting: waits once, then fails', async () => {
  client.upstream.on(PAGE, () => ({ status: 404, raw: '' }));
  client.upstream.on(EXPLORE, () => REFUSALS.rateLimit);
  await expect(client.waited(ask())).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  expect([times(PAGE), times(EXPLORE), times(SERIES)]).toEqual([1, 2, 0]);
});

test.each(['NID=', 'NID=caf\u00e9', `NID=${'x'.repeat(5000)}`, 'nid=1', 'XNID=1'])(
  'does not store the cookie %j, which cannot be sent back',
  async (cookie) => {
    client.upstream.on(PAGE, () => ({ raw: '', headers: { 'set-cookie': cookie } }));
    expect((await ask()).points).toHaveLength(1);
    expect(client.upstream.callsTo(EXPLORE).map((call) => call.cookie)).toEqual(['']);
  },
);

describe('a Retry-After of upstream', () => {
  const limited = (after: string): UpstreamAnswer => ({
    ...REFUSALS.rateLimit,
    headers: { 'retry-after': after },
  });
  const later = () => new Date(client.clock.now() + 120_000).toUTCString();

  test.each([
    ['longer than the longest wait, in seconds,', () => '120', 120],
    ['longer than the longest wait, as a date,', later, 120],
    ['above the upper bound', () => '99999999', 600],
  ])('%s is returned to the caller and pauses all workers', async (_, after, retryAfterSeconds) => {
    client.upstream.on(EXPLORE, () => limited(after()));
    const refused = { kind: 'UPSTREAM_ERROR', retryAfterSeconds };
    await expect(ask()).rejects.toMatchObject(refused);
    await expect(client.other.interestOverTime(question(), client.context())).rejects.toMatchObject(refused);
    expect(times(EXPLORE)).toBe(1);
  });

  test.each(['15', '0', '-3', 'soon', ''])('of %j replaces a default wait if longer', async (after) => {
    const answers = [limited(after), WIDGETS];
    client.upstream.on(EXPLORE, () => answers.shift() ?? REFUSALS.gone);
    const before = client.clock.now();
    await client.waited(ask());
    expect(client.clock.now() - before).toBe(after === '15' ? 15_000 : 10_000);
  });
});

test.each([
  ['https://www.google.com/sorry/index?continue=x', 'captcha'],
  ['https://www.google.com/sorry?continue=x', 'captcha'],
  ['/sorry/index', 'captcha'],
  ['https://consent.google.com/ml?continue=https://www.google.com/sorry/', 'gone'],
  ['http://[', 'gone'],
])('does not follow a redirect to %s, and logs it as %s', async (location, kind) => {
  client.upstream.on(EXPLORE, () => ({ status: 302, raw: '', headers: { location } }));
  await expect(ask()).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  expect(client.logLines.join('')).toContain(`"kind":"${kind}"`);
  expect(times(EXPLORE)).toBe(1);
});

describe('fails without a retry for widget data with unexpected content:', () => {
  const json = 'application/json; charset=utf-8';
  const text = JSON.stringify({ default: { timelineData: [] } });
  const point = (time: string) =>
    `{"default":{"timelineData":[{"time":${time},"value":[1,1],"formattedTime":"\u00e9"}]}}`;
  const cases: [name: string, answer: UpstreamAnswer][] = [
    ['no guard', { raw: text, contentType: json }],
    ['half a guard', { raw: `)]}${text}`, contentType: json }],
    ['a guard without JSON', { raw: ")]}',\n", contentType: json }],
    ['an empty body', { raw: '', contentType: json }],
    ['a guard before a web page', { raw: ")]}',\n<html>", contentType: json }],
    ['JSON with the type of a web page', { raw: `)]}',\n${text}`, contentType: 'text/html' }],
    ['JSON without a type', { raw: `)]}',\n${text}`, contentType: '' }],
    ['UTF-16', { raw: Buffer.from(`)]}',\n${text}`, 'utf16le'), contentType: json }],
    ['Latin-1', { raw: Buffer.from(`)]}',\n${point('"1"')}`, 'latin1'), contentType: json }],
    ['null', { raw: ")]}',\nnull", contentType: json }],
    ['deeply nested lists', { raw: `)]}',\n${'['.repeat(1 << 20)}`, contentType: json }],
    ['a number that is too large', { raw: `)]}',\n${point('1e999')}`, contentType: json }],
    ['an impossible time', { raw: `)]}',\n${point('"9999999999999"')}`, contentType: json }],
    ['status 204', { status: 204, raw: '', contentType: json }],
    ['status 403', { status: 403, raw: '<html>', contentType: 'text/html' }],
    ['a response above the size limit', { raw: Buffer.alloc(17 << 20, ' '), contentType: json }],
    [
      'a compressed response above the size limit',
      {
        raw: gzipSync(Buffer.alloc(64 << 20, ' ')),
        contentType: json,
        headers: { 'content-encoding': 'gzip' },
      },
    ],
  ];
  test.each(cases)('%s', async (_, answer) => {
    client.upstream.on(SERIES, () => answer);
    await expect(client.waited(ask(), 300)).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
    expect(times(SERIES)).toBe(1);
  });
});

test('reads widget data of ten million bytes', async () => {
  const points = Array.from({ length: 60_000 }, (_, i) => ({
    time: String(1_000_000_000 + i),
    formattedTime: 'x'.repeat(100),
    value: [1, 2],
    hasData: [true, true],
  }));
  client.upstream.on(SERIES, () => guarded({ default: { timelineData: points } }));
  expect((await ask()).points).toHaveLength(60_000);
});

test('closes the connection of a slow response at the end of the call', async () => {
  client.upstream.on(SERIES, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write(")]}',\n{");
    return 'handled';
  });
  const context = client.context();
  const reply = ask(context);
  reply.catch(() => {});
  await expect.poll(() => times(SERIES)).toBe(1);
  context.abort(new Error('deadline'));
  await expect(reply).rejects.toMatchObject({ kind: 'UPSTREAM_TIMEOUT' });
  await client.upstream.abandoned(1);
});

test('closes connections whose responses cannot be decompressed', async () => {
  client.upstream.on(SERIES, (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    response.write('this is no gzip');
    return 'handled';
  });
  for (let i = 0; i < 4; i += 1) {
    await expect(client.waited(ask(), 300)).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  }
  await expect.poll(() => client.upstream.callsTo(SERIES).every(({ aborted }) => aborted)).toBe(true);
});

describe('a cached explore answer', () => {
  /** Keeps the first answer to explore, as the cache does. @param kept the answer that is in the cache at first. */
  function keeping(kept?: unknown): TrendsContext {
    let value = kept;
    const prepare = async (_: unknown, fetch: () => Promise<unknown>, options?: { insteadOf?: unknown }) => {
      value = value === undefined || options?.insteadOf ? await fetch() : value;
      return value;
    };
    return client.context(prepare as TrendsContext['prepare']);
  }
  const MAP = { id: 'GEO_MAP', type: 'fe_geo_chart_explore', request: {}, token: 'old' };

  test('without the needed widget is fetched again once', async () => {
    expect((await ask(keeping([MAP]))).points).toHaveLength(1);
    expect([times(EXPLORE), times(SERIES)]).toEqual([1, 1]);
  });

  test('without the needed widget is an error only after a new one also lacks it', async () => {
    client.upstream.on(EXPLORE, () => guarded({ widgets: [MAP] }));
    await expect(ask(keeping([MAP]))).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
    expect(times(EXPLORE)).toBe(1);
    await expect(ask(keeping())).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
    expect(times(EXPLORE)).toBe(2);
  });
});

test('returns links to the site itself only', async () => {
  const links = ['/trends/explore?q=a', '@evil.example/x', '//evil.example', 'javascript:alert(1)', '.evil'];
  client.upstream.on(EXPLORE, () =>
    guarded({
      widgets: [
        {
          id: 'RELATED_QUERIES',
          type: 'fe_related_searches',
          request: { restriction: { complexKeywordsRestriction: { keyword: [{ value: 'kettle' }] } } },
          token: 't',
        },
      ],
    }),
  );
  const rankedKeyword = links.map((link, i) => ({ query: `q${i}`, value: 1, formattedValue: '1', link }));
  client.upstream.on(RELATED, () => guarded({ default: { rankedList: [{ rankedKeyword }] } }));
  const { top } = await client.trends.relatedQueries(
    question({ keywords: ['kettle'] }),
    'kettle',
    client.context(),
  );
  for (const { link } of top) {
    if (link !== null) expect(new URL(link).origin).toBe('https://trends.google.com');
  }
  expect(top[0]?.link).toBe('https://trends.google.com/trends/explore?q=a');
});
