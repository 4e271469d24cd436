import type { BookedCall, Fault } from './books.ts';
import type { BatchChange, EndedBatch, HistoryEvent, Message, ScheduleRun, WantedBatch } from './history.ts';

type Tick = Extract<HistoryEvent, { kind: 'tick' }>;
type Delivery = Extract<HistoryEvent, { kind: 'delivery' }>;

export interface BackgroundStory {
  wanted: WantedBatch[];
  retries: BatchChange[];
  ticks: Tick[];
  messages: Message[];
  batches: EndedBatch[];
  runs: ScheduleRun[];
  deliveries: Delivery[];
}

const OK = '0000';

/** Compares the batches, runs and messages of an account with what its customer asked for and received. */
export function judgeBackground(calls: ReadonlyMap<string, BookedCall>, story: BackgroundStory): Fault[] {
  return [
    ...story.batches.flatMap((batch) => judgeBatch(batch, story)),
    ...judgeWanted(story),
    ...judgeRuns(story),
    ...judgeMessages(story),
    ...judgeCharges(calls, story),
  ];
}

function judgeBatch(batch: EndedBatch, { wanted, messages, retries, deliveries }: BackgroundStory): Fault[] {
  const { batchId, counts, results, units, finishedAt } = batch;
  const { items, done, failed, cancelled, unchanged } = counts;
  const broken: string[] = [];
  if (finishedAt === null) broken.push('every batch ends');
  if (done + failed + cancelled !== items) broken.push('the counts of a batch add up to its items');
  if (units > done) broken.push('a batch costs at most one unit for each item that is done');
  const asked = wanted.find((one) => one.batchId === batchId)?.asins;
  if (asked && asked.length !== items) broken.push('a batch has all items that were asked for');
  if (results) {
    const isInOrder = results.every(([index], nth) => nth === 0 || index > (results[nth - 1]?.[0] ?? 0));
    if (results.length !== items - unchanged || !isInOrder) broken.push('every item of a batch has one line');
    if (results.filter(([, , code]) => code === OK).length !== done - unchanged)
      broken.push('every item that is done has its data');
    const isRight = ([index, asin, code, got]: (typeof results)[number]) =>
      (!asked || asked[index] === asin) && (code !== OK || got === asin);
    if (!results.every(isRight)) broken.push('every line of a batch has the data of its item');
  }
  const ends = new Set(messages.filter(({ subject }) => subject === batchId).map(({ id }) => id));
  const times = 1 + retries.filter((retry) => retry.batchId === batchId).length;
  if (batch.hasWebhook && finishedAt !== null && ends.size === 0)
    broken.push('the end of a batch has its message');
  if (ends.size > times) broken.push('the end of a batch is one message');
  const row = {
    ...batch,
    results: results?.length,
    asked: asked?.length,
    messages: [...ends],
    deliveries: deliveries.length,
  };
  return broken.map((promise) => ({ promise, row }));
}

/** A batch exists once its id was answered, and a repeated request finds the same one. */
function judgeWanted({ wanted, batches }: BackgroundStory): Fault[] {
  const ids = new Map<string, Set<string>>();
  for (const { idempotencyKey, batchId } of wanted)
    if (batchId) ids.set(idempotencyKey, (ids.get(idempotencyKey) ?? new Set()).add(batchId));
  const stored = new Set(batches.map(({ batchId }) => batchId));
  const keys = new Set(wanted.map(({ idempotencyKey }) => idempotencyKey));
  const own = batches.filter(({ scheduleId }) => scheduleId === null);
  return [
    ...[...ids]
      .filter(([, same]) => same.size > 1)
      .map(([idempotencyKey, same]) => ({
        promise: 'a repeated request for a batch finds the first one',
        row: { idempotencyKey, batches: [...same] },
      })),
    ...[...ids.values()]
      .flatMap((same) => [...same])
      .filter((batchId) => !stored.has(batchId))
      .map((batchId) => ({ promise: 'a batch that a customer received exists', row: { batchId } })),
    ...(own.length > keys.size
      ? [
          {
            promise: 'a repeated request for a batch finds the first one',
            row: { asked: keys.size, made: own.length },
          },
        ]
      : []),
  ];
}

function judgeRuns({ runs, ticks, batches }: BackgroundStory): Fault[] {
  const faults: Fault[] = [];
  const fault = (promise: string, row: object) => faults.push({ promise, row: { ...row } });
  const due = new Set<string>();
  const ofBatch = new Map<string, number>();
  const last = new Map<string, number>();
  for (const run of runs) {
    const { scheduleId, dueAt, state, batchId, trigger } = run;
    const time = `${scheduleId} ${dueAt}`;
    if (trigger !== 'manual' && due.has(time)) fault('a tick has at most one run', run);
    due.add(time);
    last.set(scheduleId, Math.max(last.get(scheduleId) ?? 0, dueAt));
    if (batchId) ofBatch.set(batchId, (ofBatch.get(batchId) ?? 0) + 1);
    if (state === 'failed') fault('no run fails', run);
    if ((state === 'started' || state === 'finished') !== (batchId !== null))
      fault('a started run has a batch, and no other run has one', run);
  }
  for (const batch of batches)
    if (batch.scheduleId !== null && ofBatch.get(batch.batchId) !== 1)
      fault('a batch of a schedule belongs to one run', { ...batch, results: batch.results?.length });
  // A later run covers the times that were missed before it.
  for (const tick of ticks)
    if ((last.get(tick.scheduleId) ?? 0) < tick.dueAt) fault('every tick has a run', tick);
  return faults;
}

function judgeMessages({ messages, deliveries }: BackgroundStory): Fault[] {
  const arrived = new Map<string, string>();
  const stored = new Map(deliveries.map((delivery) => [delivery.id, delivery]));
  const faults: Fault[] = [];
  for (const message of messages) {
    const { id, digest, isSigned } = message;
    if ((arrived.get(id) ?? digest) !== digest)
      faults.push({ promise: 'every attempt sends the same message', row: { ...message } });
    arrived.set(id, digest);
    if (!isSigned || !stored.has(id))
      faults.push({ promise: 'every message is signed and in the log', row: { ...message } });
  }
  for (const delivery of deliveries) {
    if (delivery.state !== 'delivered')
      faults.push({ promise: 'every delivery is delivered', row: { ...delivery } });
    else if (!arrived.has(delivery.id))
      faults.push({ promise: 'every delivered message has arrived', row: { ...delivery } });
  }
  return faults;
}

/** The calls of an account that only has batches are charged to its batches. */
function judgeCharges(calls: ReadonlyMap<string, BookedCall>, { batches }: BackgroundStory): Fault[] {
  if (batches.length === 0) return [];
  const booked = [...calls.values()].reduce((sum, { used }) => sum + used, 0);
  const ofBatches = batches.reduce((sum, { units }) => sum + units, 0);
  if (booked === ofBatches) return [];
  return [{ promise: 'the charges of batches are those of their calls', row: { booked, ofBatches } }];
}
