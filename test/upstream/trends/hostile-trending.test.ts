import { afterEach, beforeEach, expect, test } from 'vitest';
import { guarded, openTrendsClient, REFUSALS, type TrendsClient } from '../../support/trends-client.ts';

const LIST = '_/TrendsUi/data/batchexecute';
const FEED = 'trending/rss';

let client: TrendsClient;
beforeEach(async () => {
  client = await openTrendsClient();
});
afterEach(() => client.close());

const times = (path: string) => client.upstream.callsTo(path).length;
const list = (allowFeed = true, geo = 'US') =>
  client.trends.trending({ geo, hl: 'en-US', hours: 4, allowFeed }, client.context());
const item = (changes: Record<number, unknown> = {}) =>
  Object.assign(
    ['kettle', null, 'US', [1_772_618_400], null, null, 500, null, 75, ['kettle'], [5], [], 'kettle'],
    changes,
  );
const listed = (...items: unknown[]) =>
  guarded([['wrb.fr', 'i0OFE', JSON.stringify([null, items]), null, null, null, 'generic']], ")]}'\n\n");
const feedItem = (fields: string) =>
  `<rss><channel><item>${fields}<pubDate>Wed, 04 Mar 2026 01:50:00 -0800</pubDate></item></channel></rss>`;
const fed = (xml: string | Buffer) => ({ raw: xml, contentType: 'text/xml; charset=utf-8' });

test.each([
  ['a start after the last possible date', item({ 3: [1e15] })],
  ['a negative start', item({ 3: [-1] })],
  ['an end after the last possible date', item({ 4: [1e300] })],
  ['a fractional start', item({ 3: [1.5] })],
])('refuses trends with %s', async (_, broken) => {
  client.upstream.on(LIST, () => listed(item(), broken));
  await expect(list(false)).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
});

test('returns trends with an impossible article time, without that time', async () => {
  client.upstream.on(LIST, () => listed(item({ 1: [['a', 'https://x.example', 'Paper', [1e15]]] })));
  const { trends } = await list(false);
  expect(trends[0]?.articles).toMatchObject([{ publishedAt: null }]);
});

test('reports a 400 of the trend list as an upstream error, not as an unknown region', async () => {
  client.upstream.on(LIST, () => REFUSALS.badRequest);
  await expect(list(false)).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  client.upstream.on(FEED, () => fed(feedItem('<title>tea</title>')));
  expect((await list()).trends).toMatchObject([{ title: 'tea' }]);
});

test('decodes numeric and named character references of the feed', async () => {
  const title = 'rock &#39;n&#x27; roll &amp; &apos;caf\u00e9&apos;<![CDATA[<b>]]>';
  client.upstream.on(FEED, () => fed(feedItem(`<title>${title}</title>`)));
  expect((await list()).trends).toMatchObject([{ title: "rock 'n' roll & 'caf\u00e9'<b>" }]);
});

test('does not expand nested entities of the feed', async () => {
  const entities = Array.from({ length: 12 }, (_, i) => `<!ENTITY e${i + 1} "${`&e${i};`.repeat(10)}">`);
  const doctype = `<!DOCTYPE r [<!ENTITY e0 "ha">${entities.join('')}]>`;
  client.upstream.on(FEED, () => fed(doctype + feedItem('<title>&e12;</title>')));
  expect((await list()).trends[0]?.title.length).toBeLessThan(1000);
});

test('returns a numeric volume for any text in the feed', async () => {
  const volume = (text: string) => feedItem(`<title>a</title><approx_traffic>${text}</approx_traffic>`);
  for (const [text, expected] of [
    ['1,000+', 1000],
    ['', 0],
    ['viele', 0],
    ['9'.repeat(400), 0],
  ] as const) {
    client.upstream.on(FEED, () => fed(volume(text)));
    expect((await list()).trends).toMatchObject([{ searchVolume: expected }]);
  }
});

const feeds: [name: string, xml: string | Buffer][] = [
  ['a web page', '<!doctype html><html lang="en"><p>hello<br></html>'],
  ['a web page in XML', '<html lang="en"><body>hello</body></html>'],
  ['empty', ''],
  ['incomplete', '<rss><channel><item><title>a</ti'],
  ['in Latin-1', Buffer.from(feedItem('<title>caf\u00e9</title>'), 'latin1')],
  ['in UTF-16', Buffer.from(feedItem('<title>a</title>'), 'utf16le')],
  ['without a valid date', feedItem('<title>a</title>').replace(/Wed.*800/, 'someday')],
  ['above the size limit', `<rss>${' '.repeat(17 << 20)}</rss>`],
  ['deeply nested', '<a>'.repeat(100_000)],
];
test.each(feeds)('refuses a feed that is %s', async (_, xml) => {
  client.upstream.on(FEED, () => fed(xml));
  await expect(client.waited(list(), 300)).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  expect(times(FEED)).toBe(1);
});
