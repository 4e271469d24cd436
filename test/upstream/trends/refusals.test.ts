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

const EXPLORE = 'trends/api/explore';
const SERIES = 'trends/api/widgetdata/multiline';
const LIST = '_/TrendsUi/data/batchexecute';
const FEED = 'trending/rss';

const WIDGETS = guarded({
  widgets: [
    { id: 'TITLE_0', type: 'fe_text', text: { text: 'kettle' } },
    { id: 'TIMESERIES', type: 'fe_line_chart', request: { b: 1, a: '2026' }, token: 'good-token' },
  ],
});
const POINTS = guarded(
  {
    default: { timelineData: [{ time: '1767225600', value: [100, 3], hasData: [true, true] }], averages: [] },
  },
  ")]}',\n",
);

let client: TrendsClient;
beforeEach(async () => {
  client = await openTrendsClient();
  client.upstream.on('trends/explore', () => REFUSALS.gate);
  client.upstream.on(EXPLORE, () => WIDGETS);
  client.upstream.on(SERIES, () => POINTS);
});
afterEach(() => client.close());

/** Makes upstream give these answers one after the other; the last one repeats. */
function inTurn(path: string, ...answers: UpstreamAnswer[]): void {
  client.upstream.on(path, () => (answers.length > 1 ? answers.shift() : answers[0]) ?? REFUSALS.gone);
}

const ask = (context: TrendsContext = client.context()) =>
  client.trends.interestOverTime(question(), context);
const paths = () => client.upstream.calls.map(({ path }) => path);
const times = (path: string) => client.upstream.callsTo(path).length;

test('sends the cookie of the page to explore, and none to the data endpoints', async () => {
  await ask();
  expect(client.upstream.calls.map(({ method, path, cookie }) => [method, path, cookie])).toEqual([
    ['GET', 'trends/explore', ''],
    ['POST', EXPLORE, 'NID=511=fresh'],
    ['GET', SERIES, ''],
  ]);
});

test('shares the cookie with all workers, and replaces it when a response sets another', async () => {
  await ask();
  client.upstream.on(EXPLORE, () => ({ ...WIDGETS, headers: { 'set-cookie': 'NID=511=renewed; path=/' } }));
  await client.other.interestOverTime(question(), client.context());
  await ask();
  expect(times('trends/explore')).toBe(1);
  expect(client.upstream.callsTo(EXPLORE).map(({ cookie }) => cookie)).toEqual([
    'NID=511=fresh',
    'NID=511=fresh',
    'NID=511=renewed',
  ]);
});

test('repeats explore immediately if the refusal sets a new cookie', async () => {
  await ask();
  const gate = { ...REFUSALS.gate, headers: { 'set-cookie': 'NID=511=other; path=/' } };
  inTurn(EXPLORE, gate, WIDGETS);
  const before = client.clock.now();
  await ask();
  expect(client.clock.now()).toBe(before);
  expect(client.upstream.callsTo(EXPLORE).map(({ cookie }) => cookie)).toEqual([
    'NID=511=fresh',
    'NID=511=fresh',
    'NID=511=other',
  ]);
});

test('treats a second refusal with a new cookie as rate limiting', async () => {
  let n = 0;
  client.upstream.on(EXPLORE, () => {
    n += 1;
    return { ...REFUSALS.gate, headers: { 'set-cookie': `NID=${n}` } };
  });
  const before = client.clock.now();
  await expect(client.waited(ask())).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  expect(client.clock.now() - before).toBe(10_000);
  expect(times(EXPLORE)).toBe(3);
});

test('waits once when explore is rate-limited', async () => {
  inTurn(EXPLORE, REFUSALS.rateLimit, WIDGETS);
  const before = client.clock.now();
  await client.waited(ask());
  expect(client.clock.now() - before).toBe(10_000);
});

test('returns an upstream error with an id, and logs the reason, if explore is rate-limited again after the wait', async () => {
  inTurn(EXPLORE, REFUSALS.rateLimit);
  const error = await client.waited(ask()).then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ kind: 'UPSTREAM_ERROR', metadata: { errorId: expect.any(String) } });
  expect(String(error)).not.toContain('429');
  expect(client.logLines.join('')).toContain('HTTP 429');
  expect(times(EXPLORE)).toBe(2);
});

test('never opens the captcha page, and pauses explore for all workers for ten minutes', async () => {
  inTurn(EXPLORE, REFUSALS.captcha);
  await expect(ask()).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  const calls = client.upstream.calls.length;
  await expect(client.other.interestOverTime(question(), client.context())).rejects.toMatchObject({
    kind: 'UPSTREAM_ERROR',
    retryAfterSeconds: 600,
  });
  expect(client.upstream.calls.length).toBe(calls);
  expect(paths().some((path) => path.includes('sorry'))).toBe(false);
  client.clock.advance(601_000);
  inTurn(EXPLORE, WIDGETS);
  await client.waited(ask());
});

test('a captcha redirect from the cookie page pauses explore', async () => {
  client.upstream.on('trends/explore', () => REFUSALS.captcha);
  await expect(ask()).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  expect(paths()).toEqual(['trends/explore']);
});

test('pauses endpoints separately: trends are listed while explore is paused', async () => {
  inTurn(EXPLORE, REFUSALS.captcha);
  await expect(ask()).rejects.toThrow();
  client.upstream.on(LIST, () => guarded([['wrb.fr', 'i0OFE', '[null,[]]', null, null, null, 'generic']]));
  const list = { geo: 'US', hl: 'en-US', hours: 4, allowFeed: true };
  expect(await client.trends.trending(list, client.context())).toEqual({
    source: 'trending_now',
    trends: [],
  });
});

describe('an expired token', () => {
  const prepared: boolean[] = [];
  /** Keeps the first answer to explore, as the cache does. */
  function keeping(): TrendsContext {
    let kept: unknown;
    prepared.length = 0;
    const prepare = async (_: unknown, fetch: () => Promise<unknown>, options?: { insteadOf?: unknown }) => {
      prepared.push(options?.insteadOf !== undefined && options.insteadOf === kept);
      kept = kept === undefined || options?.insteadOf ? await fetch() : kept;
      return kept;
    };
    return client.context(prepare as TrendsContext['prepare']);
  }

  test('is replaced once', async () => {
    inTurn(SERIES, REFUSALS.staleToken, POINTS);
    const { points } = await ask(keeping());
    expect(points).toHaveLength(1);
    expect(prepared).toEqual([false, true]);
    expect([times(EXPLORE), times(SERIES)]).toEqual([2, 2]);
  });

  test('is not replaced a second time', async () => {
    inTurn(SERIES, REFUSALS.staleToken);
    await expect(ask(keeping())).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
    expect([times(EXPLORE), times(SERIES)]).toEqual([2, 2]);
  });
});

test('sends the request of a widget back byte for byte, with its token', async () => {
  await ask(client.context());
  expect(client.upstream.callsTo(SERIES)[0]?.params).toEqual({
    hl: 'en-US',
    tz: '0',
    req: '{"b":1,"a":"2026"}',
    token: 'good-token',
  });
});

describe('fails without a retry for an explore answer with unexpected content:', () => {
  const html = { raw: '<html lang="en">fine</html>', contentType: 'text/html' };
  const cases: [name: string, answer: UpstreamAnswer][] = [
    ['a web page with status 200', html],
    ['JSON without its guard', { raw: '{"widgets":[]}', contentType: 'application/json' }],
    ['incomplete JSON', { raw: ')]}\'\n{"widgets":[', contentType: 'application/json' }],
    ['no widgets', guarded({ default: {} })],
    ['no token at all', guarded({ widgets: [{ id: 'geos_note', type: 'fe_text', text: {} }] })],
    ['no widget of this kind', guarded({ widgets: [{ id: 'GEO_MAP', type: 'x', request: {}, token: 'x' }] })],
    ['a path that no longer exists', REFUSALS.gone],
    ['another address', { ...REFUSALS.captcha, headers: { location: '/elsewhere' } }],
  ];
  test.each(cases)('%s', async (_, answer) => {
    inTurn(EXPLORE, answer);
    await expect(ask()).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
    expect(times(EXPLORE)).toBe(1);
  });
});

describe('fails without a retry for widget data with unexpected values:', () => {
  const points = (point: object) => guarded({ default: { timelineData: [point] } });
  const cases: [name: string, answer: UpstreamAnswer][] = [
    ['no list', guarded({ default: {} })],
    ['fewer series than keywords', points({ time: '1', value: [1], hasData: [true] })],
    ['values beyond 100', points({ time: '1', value: [101, 1], hasData: [true, true] })],
    ['an invalid time', points({ time: 'now', value: [1, 1], hasData: [true, true] })],
    ['an error page', { ...REFUSALS.badRequest }],
  ];
  test.each(cases)('%s', async (_, answer) => {
    inTurn(SERIES, answer);
    await expect(ask()).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
    expect(times(SERIES)).toBe(1);
  });
});

test('tries a call three times after temporary errors', async () => {
  inTurn(EXPLORE, REFUSALS.fault, REFUSALS.fault, WIDGETS);
  await client.waited(ask(), 300);
  expect(times(EXPLORE)).toBe(3);
  inTurn(EXPLORE, REFUSALS.fault);
  await expect(client.waited(ask(), 300)).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  expect(times(EXPLORE)).toBe(6);
});

test('reports a 400 as an unknown region if the request has a region, and otherwise as an upstream error', async () => {
  inTurn(EXPLORE, REFUSALS.badRequest);
  await expect(
    client.trends.interestOverTime(question({ geo: 'US-QQ' }), client.context()),
  ).rejects.toMatchObject({ kind: 'VALIDATION_FAILED', metadata: { errors: [{ parameter: 'geo' }] } });
  await expect(ask()).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  expect(times(EXPLORE)).toBe(2);
});

test('an aborted call stops waiting for its slot', async () => {
  inTurn(EXPLORE, REFUSALS.rateLimit);
  const context = client.context();
  const reply = ask(context);
  reply.catch(() => {});
  await client.clock.until('upstream pacing');
  context.abort(new Error('deadline'));
  await expect(reply).rejects.toMatchObject({ kind: 'UPSTREAM_TIMEOUT' });
  expect(times(EXPLORE)).toBe(1);
});

describe('the list of trends', () => {
  const row = (result: unknown, error: unknown = null) =>
    guarded(
      [
        ['wrb.fr', 'i0OFE', result, null, null, error, 'generic'],
        ['di', 9],
      ],
      ")]}'\n\n",
    );
  const item = [
    'kettle',
    null,
    'US',
    [1_772_618_400],
    null,
    null,
    500,
    null,
    75,
    ['kettle'],
    [5],
    [],
    'kettle',
  ];
  const list = (allowFeed = true) =>
    client.trends.trending({ geo: 'US', hl: 'zh-CN', hours: 30, allowFeed }, client.context());
  const feed = `<rss xmlns:h="urn:other"><channel><item><title>tea &amp; biscuits</title>
    <h:approx_traffic>200,000+</h:approx_traffic><pubDate>Wed, 04 Mar 2026 01:50:00 -0800</pubDate>
    <h:news_item><h:news_item_title>One</h:news_item_title><h:news_item_url>https://x.example/1</h:news_item_url>
    <h:news_item_picture/><h:news_item_source>Paper</h:news_item_source></h:news_item></item></channel></rss>`;

  test('is requested with a window of 48 hours and the language zh-CN', async () => {
    client.upstream.on(LIST, () => row(JSON.stringify([null, [item]])));
    const { trends } = await list();
    expect(trends[0]).toMatchObject({ title: 'kettle', active: true, searchVolume: 500, articles: [] });
    const [call] = client.upstream.calls;
    expect(call).toMatchObject({ method: 'POST', params: { rpcids: 'i0OFE' }, cookie: '' });
    const form = new URLSearchParams(call?.body).get('f.req');
    expect(form).toBe('[[["i0OFE","[null,null,\\"US\\",3,\\"zh-CN\\",48]",null,"generic"]]]');
  });

  const failures: [name: string, answer: UpstreamAnswer, times: number][] = [
    ['an error in a response with status 200', row(null, [13]), 3],
    ['no result', guarded([['di', 9]], ")]}'\n\n"), 1],
    ['an incomplete result', row('[null,[['), 1],
    ['items with too few slots', row(JSON.stringify([null, [['kettle', null]]])), 1],
    ['items with slots of another type', row(JSON.stringify([null, [item.with(6, 'many')]])), 1],
    ['a path that no longer exists', REFUSALS.gone, 1],
    ['a redirect', REFUSALS.captcha, 1],
  ];
  test.each(failures)('is replaced by the feed after %s, where allowed', async (name, answer, calls) => {
    client.upstream.on(LIST, () => answer);
    client.upstream.on(FEED, () => ({ raw: feed, contentType: 'text/xml; charset=utf-8' }));
    if (name !== 'a redirect') {
      const { source, trends } = await client.waited(list(), 300);
      expect(source).toBe('rss');
      expect(trends).toEqual([
        {
          title: 'tea & biscuits',
          startedAt: Date.parse('2026-03-04T09:50:00Z') / 1000,
          endedAt: null,
          active: null,
          searchVolume: 200_000,
          increasePercentage: null,
          topicIds: null,
          queries: null,
          articles: [
            { title: 'One', url: 'https://x.example/1', source: 'Paper', publishedAt: null, imageUrl: null },
          ],
        },
      ]);
      expect(times(LIST)).toBe(calls);
    }
    await expect(client.waited(list(false), 300)).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
    expect(times(FEED)).toBe(name === 'a redirect' ? 0 : 1);
  });

  test('fails when the feed fails too', async () => {
    client.upstream.on(FEED, () => ({ raw: '<rss><channel>', contentType: 'text/xml' }));
    await expect(list()).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
    expect(paths()).toEqual([LIST, FEED]);
  });
});
