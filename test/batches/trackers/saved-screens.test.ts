import { expect } from 'vitest';
import type { AlertView } from '../../../src/batches/trackers/alert.ts';
import type { Reason } from '../../../src/batches/trackers/screen-reason.ts';
import { reasonText } from '../../../src/batches/trackers/screen-reason.ts';
import { takeNewestWeek } from '../../../src/batches/trackers/screen-runs.ts';
import type { TrackerView } from '../../../src/batches/trackers/tracker.ts';
import { inTransaction } from '../../../src/platform/db/transaction.ts';
import { MINUTE_MS } from '../../../src/platform/durations.ts';
import type { Client } from '../../support/client.ts';
import { type Received, verified } from '../../support/receiver.ts';
import { csvReport, load, REPORTS, type TestTerm } from '../../support/reports.ts';
import { comesAbout } from '../../support/schedules.ts';
import type { Souk } from '../../support/souk.ts';
import { test } from '../../support/souk-test.ts';
import { alertsOf, createTracker, trackerNow } from '../../support/trackers.ts';
import { unitsUsed } from '../../support/units.ts';
import { webhookCustomer } from '../../support/webhooks.ts';

const [FIRST, SECOND] = ['2026-02-14', '2026-02-21'] as const;

/** Terms with these ranks, and a click share of the first product. */
function terms(ranks: Record<string, number>, shares: Record<string, string> = {}): TestTerm[] {
  return Object.entries(ranks)
    .sort(([, a], [, b]) => a - b)
    .map(([term, rank]) => ({
      term,
      rank,
      products: [['B0SCREEN01', 'Thing', shares[term] ?? '10', '5']],
    }));
}

const saved = (screen: Record<string, unknown>, fields: Record<string, unknown> = {}) => ({
  name: 'Rising lamps',
  screen: { country: 'us', ...screen },
  ...fields,
});

/** Waits until the last run of a screen was for this week. */
async function screened(
  souk: Souk,
  client: Client,
  tracker: Pick<TrackerView, 'trackerId'>,
  week: string,
): Promise<TrackerView> {
  await comesAbout(souk, async () => (await trackerNow(client, tracker)).lastScreen?.week === week);
  return trackerNow(client, tracker);
}

/** What alerts say, by keyword. */
const said = (alerts: readonly AlertView[]) =>
  Object.fromEntries(
    alerts.map(({ title, condition, reasons }) => [
      title,
      `${condition.type}: ${reasons.map(reasonText).join('; ')}`,
    ]),
  );

async function runs({ database }: Souk, { trackerId }: Pick<TrackerView, 'trackerId'>): Promise<number> {
  const { rowCount } = await database.query('select from schedule_runs where schedule_id = $1', [trackerId]);
  return rowCount ?? 0;
}

test('a saved screen runs when a week is imported, and says which terms entered and left, and why', async ({
  souk,
  receiver,
}) => {
  const { client, secret, accountId } = await webhookCustomer(souk);
  const ranks = { 'desk lamp': 1250, 'lamp oil': 1400, 'lamp shade': 1000, 'red lamp': 1730, tent: 10 };
  await load(souk.database, 'us', csvReport(FIRST, terms(ranks)));
  const tracker = await createTracker(
    client,
    saved(
      { words: ['lamp'], rank: { max: 1500 }, clickShareMin: 5 },
      {
        webhook: `${receiver.url}/hook`,
        chat: `${receiver.url}/chat/secret`,
        notify: ['webhook', 'chat', 'email'],
      },
    ),
  );
  expect(tracker).toMatchObject({
    subject: 'screen',
    domain: 1,
    items: 1,
    conditions: [],
    cron: null,
    nextRuns: [],
    operation: 'research.screen',
    units: 1,
    unitsPerDay: 0.15,
    screen: {
      country: 'us',
      words: ['lamp'],
      rank: { max: 1500 },
      clickShare: { min: 5 },
      limit: 100,
      sort: 'rank',
    },
    chat: `${receiver.url.replace('http://', '')}/***`,
    lastScreen: null,
  });
  const first = { week: FIRST, total: 3, terms: 3, comparedWith: null, entered: 0, left: 0 };
  expect((await screened(souk, client, tracker, FIRST)).lastScreen).toEqual(first);
  expect(await alertsOf(client, tracker)).toEqual([]);

  const later = { 'desk lamp': 1730, 'lamp shade': 1000, 'red lamp': 1250, 'new lamp': 900, tent: 10 };
  await load(souk.database, 'us', csvReport(SECOND, terms(later, { 'lamp shade': '4' })));
  const ended = await screened(souk, client, tracker, SECOND);
  expect(ended.lastScreen).toEqual({
    week: SECOND,
    total: 2,
    terms: 2,
    comparedWith: FIRST,
    entered: 2,
    left: 3,
  });
  const alerts = await alertsOf(client, tracker);
  expect(said(alerts)).toEqual({
    'red lamp': 'screen_entered: rank 1,250, was 1,730; bound 1,500',
    'new lamp': 'screen_entered: rank 900; not among the terms of the week of the run before',
    'desk lamp': 'screen_left: rank 1,730, was 1,250; bound 1,500',
    'lamp oil': 'screen_left: not among the terms of this week; rank was 1,400',
    'lamp shade': 'screen_left: click share 4 %, was 10 %; bound 5 %',
  });
  expect(alerts.find(({ title }) => title === 'red lamp')).toMatchObject({
    asin: null,
    wordId: expect.any(Number),
    before: 1730,
    after: 1250,
    threshold: 1500,
    reasons: [{ filter: 'rank', before: 1730, after: 1250, bound: 1500 }],
  });
  expect([await unitsUsed(client), await runs(souk, tracker)]).toEqual([2, 2]);

  const received = async (path: string) => {
    const find = () => receiver.received.find((message) => message.path === path);
    await comesAbout(souk, async () => find() !== undefined);
    return find() as Received;
  };
  const event = await received('/hook');
  expect(verified(event, secret, souk.clock.now())).toMatchObject({
    type: 'tracker.alert',
    data: { trackerId: tracker.trackerId, alerts: expect.arrayContaining([...alerts]) },
  });
  const chat = await received('/chat/secret');
  expect(JSON.parse(chat.body)).toMatchObject({ text: '5 alerts: Rising lamps' });
  expect(chat.body).toContain('*red lamp*: Entered: rank 1,250, was 1,730; bound 1,500');
  expect(chat.headers['webhook-signature']).toBeUndefined();
  const { rows } = await souk.database.query<{ payload: string }>(
    `select payload from outbox where account_id = $1 and kind = 'tracker_alerts'`,
    [accountId],
  );
  expect(JSON.parse(rows[0]?.payload ?? '')).toMatchObject({ name: 'Rising lamps', more: 0 });
});

test('runs once for each week, in one of several processes, and after one that died in between', async ({
  souk,
  client,
}) => {
  await load(souk.database, 'uk', csvReport(FIRST, terms({ lamp: 1 })));
  const tracker = await createTracker(client, saved({ country: 'uk' }));
  await screened(souk, client, tracker, FIRST);
  const { trackerId } = tracker;
  await load(souk.database, 'uk', csvReport(SECOND, terms({ lamp: 1, tent: 2 })));
  // A process that dies before the commit leaves no mark.
  const dies = inTransaction(souk.database, async (connection) => {
    expect(await takeNewestWeek(connection, REPORTS, trackerId, false)).toBe(SECOND);
    throw new Error('the process dies');
  });
  await expect(dies).rejects.toThrow('the process dies');
  await souk.addWorker();
  await screened(souk, client, tracker, SECOND);
  // The same week once more, and an older one, are no reasons for a run.
  await load(souk.database, 'uk', csvReport(SECOND, terms({ lamp: 1, tent: 2, stool: 3 })));
  await load(souk.database, 'uk', csvReport('2026-02-07', terms({ lamp: 1 })));
  souk.clock.advance(MINUTE_MS);
  await inTransaction(souk.database, async (connection) => {
    expect(await takeNewestWeek(connection, REPORTS, trackerId, false)).toBeNull();
  });
  const { rows } = await souk.database.query<{ state: string; week: string }>(
    `select r.state, c.input::jsonb ->> 'week' as week from schedule_runs r join batch_calls c on c.batch_id = r.batch_id
     where r.schedule_id = $1 order by r.id`,
    [trackerId],
  );
  expect(rows.map(({ week }) => week)).toEqual([FIRST, SECOND]);
});

test('a screen whose terms exceed its limit says how many match, and which ones moved beyond the limit', async ({
  souk,
  client,
}) => {
  await load(souk.database, 'de', csvReport(FIRST, terms({ a1: 1, b2: 2, c3: 3 })));
  const tracker = await createTracker(client, saved({ country: 'de', limit: 2 }));
  expect((await screened(souk, client, tracker, FIRST)).lastScreen).toMatchObject({ total: 3, terms: 2 });
  await load(souk.database, 'de', csvReport(SECOND, terms({ a1: 1, c3: 2, b2: 3 })));
  await screened(souk, client, tracker, SECOND);
  expect(said(await alertsOf(client, tracker))).toEqual({
    c3: 'screen_entered: rank 2, was 3; matches in both weeks, among the first 2 in one',
    b2: 'screen_left: rank 3, was 2; matches in both weeks, among the first 2 in one',
  });
});

test('a screen by brand says which brands the products of a term have now', async ({ souk, client }) => {
  const branded = (ofLamp: string): TestTerm[] => [
    { term: 'lamp', rank: 1, brands: [ofLamp] },
    { term: 'tent', rank: 2, brands: ['Lumio'] },
  ];
  await load(souk.database, 'fr', csvReport(FIRST, branded('Lumio')));
  const tracker = await createTracker(client, saved({ country: 'fr', brand: 'lumio' }));
  await screened(souk, client, tracker, FIRST);
  await load(souk.database, 'fr', csvReport(SECOND, branded('Other')));
  await screened(souk, client, tracker, SECOND);
  expect(said(await alertsOf(client, tracker))).toEqual({
    lamp: 'screen_left: brand Other, was lumio; bound lumio',
  });
});

test('a paused screen runs after it is resumed, and a changed one starts again', async ({ souk, client }) => {
  await load(souk.database, 'it', csvReport(FIRST, terms({ lamp: 1, tent: 9 })));
  const tracker = await createTracker(client, saved({ country: 'it', rank: { max: 5 } }));
  await screened(souk, client, tracker, FIRST);
  const patch = async (body: object) =>
    (await client.get(tracker.links.self, { method: 'PATCH', body })).json;
  expect((await patch({ paused: true })).data).toMatchObject({ paused: true, nextRuns: [] });
  await load(souk.database, 'it', csvReport(SECOND, terms({ lamp: 6, tent: 4 })));
  souk.clock.advance(MINUTE_MS);
  expect(await runs(souk, tracker)).toBe(1);
  expect((await patch({ paused: false })).code).toBe('0000');
  await screened(souk, client, tracker, SECOND);
  expect(Object.keys(said(await alertsOf(client, tracker))).sort()).toEqual(['lamp', 'tent']);
  const changed = await patch({ screen: { country: 'it', rank: { max: 50 } } });
  expect(changed.data).toMatchObject({ screen: { rank: { max: 50 } }, lastScreen: null });
  expect((await screened(souk, client, tracker, SECOND)).lastScreen).toMatchObject({
    comparedWith: null,
    terms: 2,
  });
  expect(await alertsOf(client, tracker)).toHaveLength(2);
});

test('a check on request reads the newest week, and without units a run waits', async ({ souk }) => {
  const client = await souk.client({ plan: { monthlyLimit: 1 } });
  await load(souk.database, 'ca', csvReport(FIRST, terms({ lamp: 1 })));
  const tracker = await createTracker(client, saved({ country: 'ca' }));
  await screened(souk, client, tracker, FIRST);
  await load(souk.database, 'ca', csvReport(SECOND, terms({ tent: 1 })));
  await comesAbout(souk, async () => (await runs(souk, tracker)) === 2);
  souk.clock.advance(MINUTE_MS);
  expect((await trackerNow(client, tracker)).lastRun).toMatchObject({ state: 'started' });
  expect((await trackerNow(client, tracker)).lastScreen).toMatchObject({ week: FIRST });
  const again = await client.post(`/api/trackers/${tracker.trackerId}/run`, {});
  expect([again.status, again.json.code]).toEqual([409, 'BATCH_STATE']);
});

test.for<[what: string, fields: Record<string, unknown>, names: string]>([
  ['times', { cron: '0 6 * * *' }, 'cron: must not be sent with a screen'],
  [
    'conditions',
    { conditions: [{ type: 'price_below', value: 1 }] },
    'conditions: must not be sent with a screen',
  ],
  ['quiet hours', { quietHours: 1 }, 'quietHours: must not be sent with a screen'],
  ['products', { domain: 1, asins: ['B0GOOD0001'] }, 'domain: must not be sent with screen'],
  ['a week', { screen: { country: 'us', week: FIRST } }, 'screen.week: must not be sent'],
  ['fields', { screen: { country: 'us', fields: ['keyword'] } }, 'screen.fields: must not be sent'],
  ['a wrong filter', { screen: { country: 'us', rankMin: 0 } }, 'screen.rankMin: must be an integer from 1'],
  ['an unknown filter', { screen: { country: 'us', rang: 1 } }, 'screen.rang'],
  ['no country', { screen: {} }, 'screen.country'],
  ['a private address', { chat: 'http://169.254.1.1/x' }, 'chat: must not resolve to a private'],
])('refuses a screen with %s and names the field', async ([_what, fields, names], { client }) => {
  const reply = await client.post('/api/trackers', { ...saved({}), ...fields });
  expect(reply.json.msg).toContain(names);
  expect([reply.status, reply.json.code]).toEqual([400, 'VALIDATION_FAILED']);
});

test('a tracker of products gets no screen', async ({ client }) => {
  const made = await createTracker(client, saved({}));
  const patch = async (body: object) => (await client.get(made.links.self, { method: 'PATCH', body })).json;
  expect((await patch({ domain: 1, asins: ['B0GOOD0001'] })).msg).toContain('asins: must not be sent');
  expect((await patch({ cron: '0 6 * * *' })).msg).toContain('cron: must not be sent');
});

const reason = (fields: Partial<Reason>): Reason => ({
  filter: 'rank',
  before: 1,
  after: 2,
  bound: 1,
  ...fields,
});

test.for<[Reason, string]>([
  [
    reason({ filter: 'change4', before: null, after: 12, bound: 10 }),
    'change in 4 weeks 12, was unknown; bound 10',
  ],
  [
    reason({ filter: 'newSince', before: '2026-01-03', after: '2026-02-07', bound: SECOND }),
    'first seen 2026-02-07, was 2026-01-03; bound 2026-02-21',
  ],
])('says %o in words', ([one, text]) => {
  expect(reasonText(one)).toBe(text);
});
