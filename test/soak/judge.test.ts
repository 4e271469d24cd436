import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { EndedBatch, Exchange, HistoryEvent, LedgerLine } from '../support/soak/judge/history.ts';
import { judge } from '../support/soak/judge/judge.ts';
import { shrink } from '../support/soak/shrink.ts';

// biome-ignore lint/suspicious/noExplicitAny: a change may break an event of any kind in any way.
type Changed = any;

const NOON = Date.parse('2026-03-04T12:00:00Z');
const at = (seconds: number) => new Date(NOON + seconds * 1_000).toISOString();

let lines = 0;
const line = (
  kind: LedgerLine['kind'],
  [source, sourceId]: [LedgerLine['source'], number],
  units: number,
  more: Partial<LedgerLine> & { seconds: number },
): LedgerLine => {
  lines += 1;
  const { seconds, ...rest } = more;
  const nothing = { callId: null, operation: 'market.product', keyId: null, change: 0 };
  return { line: lines, at: at(seconds), kind, source, sourceId, units, ...nothing, ...rest };
};

const PLAN: ['subscription', number] = ['subscription', 1];
const PACK: ['pack', number] = ['pack', 2];
const ENDED: ['pack', number] = ['pack', 3];
const OFF_PEAK: ['pack', number] = ['pack', 4];

const asked = (asins: string) => `market.product?asins=${asins}&domain=1`;

const exchange = (seconds: number, more: Partial<Exchange>): Exchange => ({
  ...{ kind: 'exchange', what: 'call', account: 7, keyId: 1, asked: asked('B01'), said: '200' },
  ...{ sentAt: NOON + seconds * 1_000, endedAt: NOON + seconds * 1_000 + 500 },
  ...{ outcome: 'answered', jobId: null, units: 0, ...more },
});

const SIX = ['B01', 'B02', 'B11', 'B12', 'B13', 'B14'];

/** A day of two accounts: one makes calls, the other one a batch. */
function history(): HistoryEvent[] {
  lines = 0;
  const ledger = [
    line('grant', PACK, 50, { seconds: -60 }),
    line('grant', ENDED, 5, { seconds: -60 }),
    line('grant', OFF_PEAK, 9, { seconds: -60 }),
    line('reserve', PLAN, 8, { seconds: 1, callId: 'a', keyId: 1 }),
    line('settle', PLAN, 6, { seconds: 2, callId: 'a', keyId: 1 }),
    line('release', PLAN, 2, { seconds: 2, callId: 'a', keyId: 1 }),
    line('reserve', PLAN, 4, { seconds: 3, callId: 'b', keyId: 2 }),
    line('reserve', ENDED, 1, { seconds: 3, callId: 'b', keyId: 2 }),
    line('release', PLAN, 4, { seconds: 4, callId: 'b', keyId: 2 }),
    line('release', ENDED, 1, { seconds: 4, callId: 'b', keyId: 2 }),
    line('charge', PLAN, 3, { seconds: 5, callId: 'c', keyId: 1 }),
    line('expire', ENDED, 5, { seconds: 30 }),
    line('charge', PLAN, 1, { seconds: 41, callId: 'd', keyId: 1 }),
    line('charge', PACK, 1, { seconds: 41, callId: 'd', keyId: 1 }),
    line('charge', PACK, 1, { seconds: 42, callId: 'e', keyId: 1 }),
    line('refund', PACK, 1, { seconds: 43, callId: 'e', keyId: 1 }),
    line('reserve', OFF_PEAK, 2, { seconds: 61, callId: 'f', keyId: 1 }),
    line('settle', OFF_PEAK, 2, { seconds: 61, callId: 'f', keyId: 1 }),
  ];
  const events: HistoryEvent[] = [
    {
      ...{ kind: 'account', account: 7, name: 'calls' },
      window: { start: '17:46', end: '18:30', timezone: 'Asia/Kathmandu' },
      subscriptions: [{ id: 1, wallet: 'general', minuteLimit: 4, dailyLimit: 10, monthlyLimit: null }],
      packs: [
        { id: 2, wallet: 'general', units: 50, rate: 2, validUntil: NOON + 9e9 },
        { id: 3, wallet: 'general', units: 5, rate: 9, validUntil: NOON + 30_000 },
        { id: 4, wallet: 'off_peak', units: 9, rate: 9, validUntil: NOON + 8e9 },
      ],
      caps: [{ keyId: 2, capDay: 5 }],
    },
    { kind: 'ledger', account: 7, lines: ledger },
    exchange(1, { jobId: 'a', units: 6, asked: asked(SIX.join(',')), got: SIX.map((asin) => `1 ${asin}`) }),
    exchange(2, { jobId: 'a', said: '200 joined', asked: asked(SIX.join(',')) }),
    exchange(3, { jobId: 'b', outcome: 'failed', said: '502 3001', keyId: 2, asked: asked('B09') }),
    exchange(4, { jobId: 'c', outcome: 'accepted', said: '202', webhook: true, asked: asked('B03') }),
    exchange(6, { jobId: 'c', what: 'result', units: 3, asked: asked('B03') }),
    exchange(40, { outcome: 'unheard', said: 'ECONNRESET', asked: asked('B04') }),
    exchange(42, { jobId: 'e', units: 1, asked: asked('B05') }),
    exchange(60, { jobId: 'f', units: 2, asked: asked('B06') }),
    exchange(62, { what: 'revoke', keyId: 3, asked: '' }),
    exchange(64, { keyId: 3, outcome: 'refused', said: '401 4001', asked: asked('B07') }),
    // The error of a cancellation is not that of its call.
    exchange(66, { jobId: 'f', what: 'cancel', outcome: 'failed', said: '503 BUSY', asked: asked('B06') }),
    {
      ...{ kind: 'message', account: 7, id: 'm1', type: 'job.completed', subject: 'c', state: 'done' },
      ...{ units: 3, digest: 'd1', isSigned: true },
    },
    { kind: 'delivery', account: 7, id: 'm1', type: 'job.completed', state: 'delivered' },
    {
      ...{ kind: 'quota', account: 7 },
      quota: {
        serverTime: at(90),
        general: { subscribed: true, daily: { used: 10 }, monthly: { used: 10 } },
        off_peak: { subscribed: false },
        packs: {
          items: [
            { id: 2, remainingUnits: 49 },
            { id: 4, remainingUnits: 7 },
          ],
        },
        key: { id: 2, used: { day: 0 } },
      },
    },
    {
      kind: 'usage',
      account: 7,
      rows: [{ day: at(0).slice(0, 10), operation: 'market.product', units: 13 }],
    },
    ...batchHistory(),
    { kind: 'end', at: NOON + 90_000 },
  ];
  return structuredClone(events);
}

function batchHistory(): HistoryEvent[] {
  const batch: EndedBatch = {
    ...{ kind: 'batch end', account: 8, batchId: 'x', scheduleId: null, state: 'done', units: 1 },
    ...{ finishedAt: at(9), hasWebhook: true },
    counts: { items: 2, done: 1, failed: 1, cancelled: 0, unchanged: 0 },
    results: [
      [0, 'B1', '0000', 'B1'],
      [1, 'B2', '3001', null],
    ],
  };
  const message = { account: 8, type: 'batch.completed', state: 'done', units: null, isSigned: true };
  return [
    {
      ...{ kind: 'account', account: 8, name: 'batches', packs: [], caps: [] },
      window: { start: '00:00', end: '23:59', timezone: 'UTC' },
      subscriptions: [{ id: 5, wallet: 'general', minuteLimit: null, dailyLimit: null, monthlyLimit: null }],
    },
    { kind: 'batch', account: 8, idempotencyKey: 'k', asins: ['B1', 'B2'], batchId: null },
    { kind: 'batch', account: 8, idempotencyKey: 'k', asins: ['B1', 'B2'], batchId: 'x' },
    { kind: 'tick', account: 8, scheduleId: 's', dueAt: NOON },
    {
      ...{ kind: 'run', account: 8, scheduleId: 's', runId: 'r', dueAt: NOON + 5_000 },
      ...{ trigger: 'missed', state: 'finished', batchId: 'y' },
    },
    batch,
    { ...batch, batchId: 'y', scheduleId: 's', units: 0 },
    { kind: 'message', ...message, id: 'm2', subject: 'x', digest: 'd2' },
    { kind: 'message', ...message, id: 'm3', subject: 'y', digest: 'd3' },
    { kind: 'message', ...message, id: 'm3', subject: 'y', digest: 'd3' },
    { kind: 'delivery', account: 8, id: 'm2', type: 'batch.completed', state: 'delivered' },
    { kind: 'delivery', account: 8, id: 'm3', type: 'batch.completed', state: 'delivered' },
    {
      ...{ kind: 'ledger', account: 8 },
      lines: [line('charge', ['subscription', 5], 1, { seconds: 1, callId: 'g' })],
    },
    { kind: 'usage', account: 8, rows: [{ day: at(0).slice(0, 10), operation: 'market.product', units: 1 }] },
  ];
}

test('a correct history has no faults', async () => {
  expect((await judge(history())).faults).toEqual([]);
});

/** Returns the nth event of a kind. */
const nth = (events: HistoryEvent[], kind: HistoryEvent['kind'], n = 0): Changed =>
  events.filter((event) => event.kind === kind)[n];
const ledgerOf = (events: HistoryEvent[]): Changed[] => nth(events, 'ledger').lines;
const slower = (pack: Changed) => ({ ...pack, rate: 1 });
const without = (events: HistoryEvent[], event: Changed) => void events.splice(events.indexOf(event), 1);

test.each<[string, (events: HistoryEvent[]) => void]>([
  ['every call ends', (events) => ledgerOf(events).splice(17, 1)],
  [
    'every admitted call ends once, and is never charged more than was reserved',
    (events) => ledgerOf(events).push({ ...ledgerOf(events)[4], line: 99 }),
  ],
  ['a call is admitted once', (events) => ledgerOf(events).push({ ...ledgerOf(events)[3], line: 99 })],
  ['only an admitted call ends', (events) => ledgerOf(events).splice(3, 1)],
  ['a pack is granted once', (events) => ledgerOf(events).push({ ...ledgerOf(events)[0], line: 99 })],
  ['no pack is ever overdrawn', (events) => (ledgerOf(events)[11].units = 9)],
  ['units of a pack expire at its end only', (events) => (ledgerOf(events)[11].at = at(29))],
  ['the units left in a pack expire at its end', (events) => ledgerOf(events).splice(11, 1)],
  [
    'nothing is drawn on a pack after its end',
    (events) => (nth(events, 'account').packs[1].validUntil = NOON),
  ],
  ['units are drawn in one order', (events) => (nth(events, 'account').subscriptions[0].dailyLimit = 99)],
  [
    'off-peak units are drawn in the off-peak window only',
    (events) => (nth(events, 'account').window.start = '17:47'),
  ],
  [
    'no limit of a day, month or pack is ever exceeded',
    (events) => (nth(events, 'account').subscriptions[0].monthlyLimit = 7),
  ],
  [
    'no limit of a minute is ever exceeded',
    (events) => (nth(events, 'account').subscriptions[0].minuteLimit = 3),
  ],
  [
    'no limit of a minute is ever exceeded',
    (events) => Object.assign(nth(events, 'account').packs, nth(events, 'account').packs.map(slower)),
  ],
  ['a key never uses more units than its cap', (events) => (nth(events, 'account').caps[0].capDay = 4)],
  [
    'the quota equals the ledger',
    (events) => (nth(events, 'quota').quota.packs.items[0].remainingUnits = 50),
  ],
  ['the quota equals the ledger', (events) => (nth(events, 'quota').quota.general.daily.used = 9)],
  ['the quota of a key equals the ledger', (events) => (nth(events, 'quota').quota.key.used.day = 5)],
  [
    'the usage of a day equals the charges in the ledger',
    (events) => (nth(events, 'usage').rows[0].units = 12),
  ],
  ['an answered call cost the units in its answer', (events) => (nth(events, 'exchange').units = 8)],
  ['a joined call costs nothing', (events) => (nth(events, 'exchange', 1).units = 6)],
  ['an error states 0 units', (events) => (nth(events, 'exchange', 2).units = 5)],
  ['a failed call is not charged', (events) => (nth(events, 'exchange').outcome = 'failed')],
  [
    'every request is answered in time',
    (events) => (nth(events, 'exchange', 5).said = 'UND_ERR_HEADERS_TIMEOUT'),
  ],
  ['every accepted job has a result', (events) => (nth(events, 'exchange', 4).outcome = 'refused')],
  ['an answer has what was asked for', (events) => (nth(events, 'exchange').got = ['3 B01'])],
  ['an answer has what was asked for', (events) => (nth(events, 'exchange').got = ['1 B03'])],
  ['an answer costs at most one unit for each product in it', (events) => nth(events, 'exchange').got.pop()],
  [
    'identical calls are charged once within five minutes',
    (events) => (nth(events, 'exchange', 3).asked = asked(SIX.join(','))),
  ],
  [
    'every charge belongs to a request that may have had its answer',
    (events) => without(events, nth(events, 'exchange', 5)),
  ],
  [
    'every charge belongs to a request that may have had its answer',
    (events) => (nth(events, 'exchange', 7).outcome = 'failed'),
  ],
  ['a revoked key is refused', (events) => (nth(events, 'exchange', 9).outcome = 'accepted')],
  ['a job with a webhook has its message', (events) => without(events, nth(events, 'message'))],
  ['a message states the charge of its job', (events) => (nth(events, 'message').units = 2)],
  ['the end of a job is one message', (events) => events.push({ ...nth(events, 'message'), id: 'other' })],
  ['every batch ends', (events) => (nth(events, 'batch end').finishedAt = null)],
  ['the counts of a batch add up to its items', (events) => (nth(events, 'batch end').counts.failed = 0)],
  [
    'a batch costs at most one unit for each item that is done',
    (events) => (nth(events, 'batch end').units = 2),
  ],
  ['a batch has all items that were asked for', (events) => nth(events, 'batch', 1).asins.push('B3')],
  ['every item of a batch has one line', (events) => nth(events, 'batch end').results.pop()],
  ['every item of a batch has one line', (events) => (nth(events, 'batch end').results[1][0] = 0)],
  ['every item that is done has its data', (events) => (nth(events, 'batch end').results[0][2] = '3001')],
  [
    'every line of a batch has the data of its item',
    (events) => (nth(events, 'batch end').results[0][3] = 'B2'),
  ],
  ['the end of a batch has its message', (events) => without(events, nth(events, 'message', 1))],
  ['the end of a batch is one message', (events) => (nth(events, 'message', 3).id = 'm4')],
  ['a batch that a customer received exists', (events) => without(events, nth(events, 'batch end'))],
  ['a repeated request for a batch finds the first one', (events) => (nth(events, 'batch').batchId = 'z')],
  ['the charges of batches are those of their calls', (events) => (nth(events, 'batch end').units = 0)],
  ['a tick has at most one run', (events) => events.push(nth(events, 'run'))],
  ['every tick has a run', (events) => (nth(events, 'tick').dueAt += 6_000)],
  ['a started run has a batch, and no other run has one', (events) => (nth(events, 'run').batchId = null)],
  ['a batch of a schedule belongs to one run', (events) => (nth(events, 'run').batchId = 'other')],
  ['no run fails', (events) => (nth(events, 'run').state = 'failed')],
  ['every attempt sends the same message', (events) => (nth(events, 'message', 3).digest = 'other')],
  ['every message is signed and in the log', (events) => (nth(events, 'message', 1).isSigned = false)],
  ['every message is signed and in the log', (events) => without(events, nth(events, 'delivery', 1))],
  ['every delivery is delivered', (events) => (nth(events, 'delivery').state = 'failed')],
  [
    'every delivered message has arrived',
    (events) => events.push({ ...nth(events, 'delivery'), id: 'lost' }),
  ],
  ['a history has an end', (events) => events.pop()],
])('finds a history that breaks the promise: %s', async (promise, change) => {
  const events = history();
  change(events);
  expect((await judge(events)).faults.map((fault) => fault.promise)).toContain(promise);
});

// The request of the released call is sent three seconds after noon, and answered half a second later.
test.each([
  ['before the request', 2.9, 1],
  ['during the request', 3.2, 0],
  ['less than a second after the answer', 4.4, 0],
  ['later', 4.6, 1],
])('an answer is free only if a fail-over may have lost its charge: %s', async (_when, seconds, faults) => {
  const events = history();
  const answered = events.find((event) => event.kind === 'exchange' && event.jobId === 'b');
  Object.assign(answered as Changed, { outcome: 'answered', said: '200', units: 5 });
  events.push({ kind: 'fail-over', at: NOON + seconds * 1_000 });
  expect((await judge(events)).faults).toHaveLength(faults);
});

test('the judge imports nothing but itself and Node', async () => {
  const folder = 'test/support/soak/judge';
  const files = await readdir(folder);
  const imports = await Promise.all(
    files.map(async (file) => [
      ...(await readFile(`${folder}/${file}`, 'utf8')).matchAll(/(?:from|import\() ?'([^']+)'/g),
    ]),
  );
  const imported = imports.flat().map(([, path = '']) => path);
  expect(imported.length).toBeGreaterThan(5);
  expect(imported.filter((path) => !/^(node:|\.\/[a-z-]+\.ts$)/.test(path))).toEqual([]);
});

test('shrinking leaves the items that a failure needs', async () => {
  const items = Array.from({ length: 60 }, (_, i) => i);
  let runs = 0;
  const fails = async (rest: readonly number[]) => {
    runs += 1;
    return [7, 8, 41].every((needed) => rest.includes(needed));
  };
  expect(await shrink(items, fails, 200)).toEqual([7, 8, 41]);
  expect(runs).toBeLessThan(100);
  expect(await shrink(items, fails, 3)).toContain(41);
});
