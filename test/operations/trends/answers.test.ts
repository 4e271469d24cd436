import { describe, expect, test } from 'vitest';
import { inputOn, type QueuedOperation } from '../../../src/operations/define.ts';
import { interestByRegion, type Region } from '../../../src/operations/trends/interest-by-region.ts';
import { interestOverTime } from '../../../src/operations/trends/interest-over-time.ts';
import { relatedQueries } from '../../../src/operations/trends/related.ts';
import { dailyTrends, realTimeTrends, type Trend } from '../../../src/operations/trends/trending.ts';
import { canonical, faultsOf } from '../../support/parameters.ts';

const NOW = Date.parse('2026-03-04T10:00:00Z');
const seconds = (iso: string) => Date.parse(iso) / 1000;

/** The data of an answer to a request that is made now. */
function answerTo<Input, Raw>(
  operation: QueuedOperation<string, Input, Raw>,
  sent: object,
  found: Record<string, Raw>,
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape.
): any {
  const input = inputOn(operation, canonical(operation, sent), NOW);
  if (operation.respond.type !== 'json') throw new Error('not JSON');
  return operation.respond.present(new Map(Object.entries(found)), input, { now: NOW }).data;
}

describe('interest over time', () => {
  const point = (iso: string, values: number[], isPartial = false) => ({
    timestamp: seconds(iso),
    formattedTime: 'then',
    isPartial,
    values,
    hasData: values.map((value) => value > 0),
  });
  const show = (keyword: string, resolution: string, points: ReturnType<typeof point>[]) =>
    answerTo(interestOverTime, { keyword, timezone: 60 }, { '': { resolution, points } });

  test('has a series for each keyword, and its mean', () => {
    const points = [point('2026-02-22T00:00:00Z', [90, 0]), point('2026-03-01T00:00:00Z', [45, 4], true)];
    expect(show('kettle,pot', 'WEEK', points)).toEqual({
      keywords: ['kettle', 'pot'],
      geo: '',
      hl: 'en-US',
      property: 'web',
      category: 0,
      startDate: '2025-03-04',
      endDate: '2026-03-04',
      timezone: 60,
      resolution: 'WEEK',
      timelineData: [
        {
          timestamp: seconds('2026-02-22T00:00:00Z'),
          date: '2026-02-22',
          formattedTime: 'then',
          isPartial: false,
          values: [
            { query: 'kettle', value: 90, hasData: true },
            { query: 'pot', value: 0, hasData: false },
          ],
        },
        expect.objectContaining({ date: '2026-03-01', isPartial: true }),
      ],
      averages: [
        { query: 'kettle', value: 68 },
        { query: 'pot', value: 2 },
      ],
    });
  });

  test('has the mean of a single keyword, and none without points', () => {
    expect(show('kettle', 'DAY', [point('2026-03-01T00:00:00Z', [7])]).averages).toEqual([
      { query: 'kettle', value: 7 },
    ]);
    expect(show('kettle', 'DAY', [])).toMatchObject({ timelineData: [], averages: [] });
  });

  test.each([
    ['MONTH', '2026-03-01'],
    ['DAY', '2026-03-01'],
    ['HOUR', '2026-03-01T00:00:00Z'],
    ['EIGHT_MINUTE', '2026-03-01T00:00:00Z'],
  ])('writes the date of a point of a %s as %s', (resolution, date) => {
    const [shown] = show('kettle', resolution, [point('2026-03-01T00:00:00Z', [7])]).timelineData;
    expect(shown.date).toBe(date);
  });
});

describe('interest by region', () => {
  const region = (geoName: string, values: number[], hasData = values.map(() => true)): Region => ({
    geoCode: null,
    geoName,
    coordinates: null,
    values,
    hasData,
    maxValueIndex: 0,
  });

  test('sorts regions by the first keyword and then by name, and leaves out regions without data', () => {
    const regions = [
      region('Zeeland', [50, 50]),
      region('Anhalt', [50, 50]),
      region('Nowhere', [0, 0], [false, false]),
      region('Half', [0, 100], [false, true]),
      region('Top', [98, 2]),
    ];
    const data = answerTo(interestByRegion, { keyword: 'a,b' }, { '': { resolution: 'COUNTRY', regions } });
    expect(data.regions.map(({ geoName }: Region) => geoName)).toEqual(['Top', 'Anhalt', 'Zeeland', 'Half']);
    expect(data).toMatchObject({ resolution: 'COUNTRY', valueMode: 'percentage' });
    expect(data.regions[3].values).toEqual([
      { query: 'a', value: 0, hasData: false },
      { query: 'b', value: 100, hasData: true },
    ]);
  });

  test('states the meaning of its values and the resolution', () => {
    const raw = { '': { resolution: 'REGION', regions: [region('One', [100])] } };
    const data = answerTo(interestByRegion, { keyword: 'a', geo: 'US' }, raw);
    expect(data).toMatchObject({ resolution: 'REGION', valueMode: 'index' });
  });
});

describe('related searches', () => {
  const facts = (value: number, formattedValue: string) => ({ value, formattedValue, link: null });

  test('are listed for each keyword in the order of the request, and breakouts are recognised in any language', () => {
    const rising = ['+350%', 'Breakout', '急激増加', '+٥٠٪'].map((words, i) => ({
      query: `q${i}`,
      ...facts(i, words),
    }));
    const found = { pot: { available: true, top: [{ query: 'pot lid', ...facts(100, '100') }], rising } };
    const { results } = answerTo(relatedQueries, { keyword: 'kettle,pot' }, found);
    expect(results[0]).toEqual({ keyword: 'kettle', top: [], rising: [] });
    expect(results[1].top).toEqual([{ query: 'pot lid', value: 100, formattedValue: '100', link: null }]);
    expect(results[1].rising.map(({ isBreakout }: { isBreakout: boolean }) => isBreakout)).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });
});

function trend(title: string, facts: Partial<Trend> = {}): Trend {
  return {
    title,
    startedAt: seconds('2026-03-04T08:00:00Z'),
    endedAt: null,
    active: true,
    searchVolume: 1000,
    increasePercentage: 100,
    topicIds: [],
    queries: [title],
    articles: [],
    ...facts,
  };
}
const titles = (data: { trends: { query: string }[] }) => data.trends.map(({ query }) => query);

describe('daily trends', () => {
  test('are the trends that started on the day, sorted by volume, growth and start', () => {
    const trends = [
      trend('late', { startedAt: seconds('2026-03-04T09:00:00Z') }),
      trend('early'),
      trend('grown', { increasePercentage: 500 }),
      trend('large', { searchVolume: 2000 }),
      trend('yesterday', { startedAt: seconds('2026-03-03T23:50:00Z'), searchVolume: 1_000_000 }),
    ];
    const data = answerTo(dailyTrends, {}, { '': { source: 'trending_now', trends } });
    expect(titles(data)).toEqual(['large', 'grown', 'late', 'early']);
    expect(data).toMatchObject({ geo: 'US', hl: 'en-US', trendDate: '2026-03-04', source: 'trending_now' });
    expect(data.trends.map(({ rank }: { rank: number }) => rank)).toEqual([1, 2, 3, 4]);
    const before = answerTo(
      dailyTrends,
      { trendDate: '2026-03-03' },
      { '': { source: 'trending_now', trends } },
    );
    expect(titles(before)).toEqual(['yesterday']);
  });

  test('have all fields', () => {
    const given = trend('kettle', {
      searchVolume: 1_500_000,
      topicIds: [18, 12],
      endedAt: seconds('2026-03-04T09:30:00Z'),
      active: false,
      articles: [
        {
          title: 'T',
          url: 'https://x.example/1',
          source: 'S',
          publishedAt: seconds('2026-03-04T07:00:00Z'),
          imageUrl: null,
        },
      ],
    });
    expect(answerTo(dailyTrends, {}, { '': { source: 'trending_now', trends: [given] } }).trends[0]).toEqual({
      rank: 1,
      query: 'kettle',
      searchVolume: 1_500_000,
      formattedTraffic: '1.5M+',
      increasePercentage: 100,
      startedAt: '2026-03-04T08:00:00Z',
      endedAt: '2026-03-04T09:30:00Z',
      active: false,
      categories: [
        { id: 18, name: 'Technology' },
        { id: 12, name: null },
      ],
      relatedQueries: ['kettle'],
      articles: [
        {
          title: 'T',
          url: 'https://x.example/1',
          source: 'S',
          publishedAt: '2026-03-04T07:00:00Z',
          imageUrl: null,
        },
      ],
    });
  });

  test.each([
    [200, '200+'],
    [2000, '2K+'],
    [50_000, '50K+'],
    [1_000_000, '1M+'],
  ])('have the volume %i as the text %s', (searchVolume, words) => {
    const trends = [trend('kettle', { searchVolume })];
    expect(answerTo(dailyTrends, {}, { '': { source: 'rss', trends } }).trends[0].formattedTraffic).toBe(
      words,
    );
  });

  test.each(['2026-02-25', '2026-03-04'])('of %s are allowed', (trendDate) => {
    expect(inputOn(dailyTrends, canonical(dailyTrends, { trendDate }), NOW).trendDate).toBe(trendDate);
  });
});

describe('real-time trends', () => {
  const list = (...trends: Trend[]) => ({ '': { source: 'trending_now' as const, trends, updatedAt: NOW } });

  test('are the trends that continue, newest first', () => {
    const data = answerTo(
      realTimeTrends,
      { timezone: '480', property: 'news' },
      list(
        trend('old', { startedAt: seconds('2026-03-04T07:00:00Z') }),
        trend('over', { active: false, endedAt: seconds('2026-03-04T09:00:00Z') }),
        trend('new', { startedAt: seconds('2026-03-04T09:50:00Z') }),
        trend('unsure', { active: null }),
      ),
    );
    expect(titles(data)).toEqual(['new', 'unsure', 'old']);
    expect(data).toMatchObject({
      geo: 'US',
      hl: 'en-US',
      category: 'all',
      property: 'news',
      timezone: 480,
      updatedAt: '2026-03-04T10:00:00.000Z',
    });
  });

  test.each([
    ['all', ['business', 'film', 'science', 'tech', 'sport', 'health', 'none']],
    ['m', ['business', 'film', 'science', 'tech', 'sport', 'health', 'none']],
    ['b', ['business']],
    ['e', ['film']],
    ['t', ['science', 'tech']],
    ['s', ['sport']],
    ['h', ['health']],
  ])('with category %s are %j', (category, expected) => {
    const topics: Record<string, number[]> = {
      business: [3],
      film: [4, 11],
      science: [15],
      tech: [18],
      sport: [17],
      health: [7],
      none: [],
    };
    const trends = Object.entries(topics).map(([title, topicIds]) => trend(title, { topicIds }));
    expect(titles(answerTo(realTimeTrends, { category }, list(...trends)))).toEqual(expected);
  });

  test('with a category have a source that contains topics', () => {
    const identity = (category: string) =>
      realTimeTrends.source(canonical(realTimeTrends, { category }))[0]?.identity;
    expect(identity('m')).toBe(identity('all'));
    expect(identity('b')).not.toBe(identity('all'));
    expect(identity('b')).toBe(identity('s'));
  });
});

test.each([
  [dailyTrends, { geo: '' }, 'geo'],
  [dailyTrends, { geo: 'UK' }, 'geo'],
  [dailyTrends, { geo: 'USA' }, 'geo'],
  [dailyTrends, { hl: 'xx' }, 'hl'],
  [dailyTrends, { trendDate: 'today' }, 'trendDate'],
  [realTimeTrends, { geo: '' }, 'geo'],
  [realTimeTrends, { category: '3' }, 'category'],
  [realTimeTrends, { property: 'tv' }, 'property'],
  [realTimeTrends, { timezone: '5000' }, 'timezone'],
])('$name refuses an invalid value, and names the parameter', (operation, sent, parameter) => {
  expect(Object.keys(faultsOf(operation, sent))).toEqual([parameter]);
});

test.each([
  ['UK', 'GB'],
  ['uk-eng', 'GB-ENG'],
])('a trend of %s is refused with the right code %s', (geo, right) => {
  expect(faultsOf(dailyTrends, { geo }).geo).toContain(`; did you mean ${right}?`);
});
