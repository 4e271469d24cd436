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
const list = (feedWillDo = true, geo = 'US') =>
  client.trends.trending({ geo, hl: 'en-US', hours: 4, feedWillDo }, client.context());
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
  ['a start beyond time', item({ 3: [1e15] })],
  ['a start before time', item({ 3: [-1] })],
  ['an end beyond time', item({ 4: [1e300] })],
  ['a start that is no whole number', item({ 3: [1.5] })],
])('trends with %s are not taken', async (_, broken) => {
  client.upstream.on(LIST, () => listed(item(), broken));
  await expect(list(false)).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
});

test('trends with articles beyond time are taken, without that time', async () => {
  client.upstream.on(LIST, () => listed(item({ 1: [['a', 'https://x.example', 'Paper', [1e15]]] })));
  const { trends } = await list(false);
  expect(trends[0]?.articles).toMatchObject([{ publishedAt: null }]);
});

test('trends are a fault of upstream, not of the region, where it answers 400 to everything', async () => {
  client.upstream.on(LIST, () => REFUSALS.badRequest);
  await expect(list(false)).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  client.upstream.on(FEED, () => fed(feedItem('<title>tea</title>')));
  expect((await list()).trends).toMatchObject([{ title: 'tea' }]);
});

test('trends of the feed have their characters written as numbers, names or as they are', async () => {
  const title = 'rock &#39;n&#x27; roll &amp; &apos;caf\u00e9&apos;<![CDATA[<b>]]>';
  client.upstream.on(FEED, () => fed(feedItem(`<title>${title}</title>`)));
  expect((await list()).trends).toMatchObject([{ title: "rock 'n' roll & 'caf\u00e9'<b>" }]);
});

test('trends of the feed do not grow by entities within entities', async () => {
  const entities = Array.from({ length: 12 }, (_, i) => `<!ENTITY e${i + 1} "${`&e${i};`.repeat(10)}">`);
  const doctype = `<!DOCTYPE r [<!ENTITY e0 "ha">${entities.join('')}]>`;
  client.upstream.on(FEED, () => fed(doctype + feedItem('<title>&e12;</title>')));
  expect((await list()).trends[0]?.title.length).toBeLessThan(1000);
});

test('trends of the feed have a volume that is a number, whatever it says', async () => {
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
  ['nothing', ''],
  ['a piece', '<rss><channel><item><title>a</ti'],
  ['Latin-1', Buffer.from(feedItem('<title>caf\u00e9</title>'), 'latin1')],
  ['UTF-16', Buffer.from(feedItem('<title>a</title>'), 'utf16le')],
  ['a day that is none', feedItem('<title>a</title>').replace(/Wed.*800/, 'someday')],
  ['more than can be kept', `<rss>${' '.repeat(17 << 20)}</rss>`],
  ['tags within tags', '<a>'.repeat(100_000)],
];
test.each(feeds)('trends are not to be had from a feed that is %s', async (_, xml) => {
  client.upstream.on(FEED, () => fed(xml));
  await expect(client.waited(list(), 300)).rejects.toMatchObject({ kind: 'UPSTREAM_ERROR' });
  expect(times(FEED)).toBe(1);
});
