import { expect, onTestFinished } from 'vitest';
import type { AlertView } from '../../src/batches/trackers/alert.ts';
import type { TrackerView } from '../../src/batches/trackers/tracker.ts';
import { HOUR_MS } from '../../src/platform/durations.ts';
import type { Client } from './client.ts';
import { comesAbout } from './schedules.ts';
import type { Script } from './scripted-upstream.ts';
import type { Souk } from './souk.ts';

/** What upstream knows of a product; an absent value is missing, -1 is out of stock. */
export interface TrackedProduct {
  amazon?: number;
  new?: number;
  average90?: number;
  rank?: number;
  rating?: number;
  owner?: string;
}

const SERIES = { amazon: 0, new: 1, rank: 3, rating: 16 } as const;

/** Returns the statistics of a product, as the provider sends them. */
export function statsOf(product: TrackedProduct) {
  const current = new Array<number>(36).fill(-1);
  for (const [name, index] of Object.entries(SERIES))
    current[index] = product[name as keyof typeof SERIES] ?? -1;
  const avg90 = new Array<number>(36).fill(-1);
  avg90[SERIES.new] = product.average90 ?? -1;
  return { current, avg30: avg90, avg90, buyBoxSellerId: product.owner ?? null };
}

/** An upstream with these products, by ASIN. */
export function hasProducts(products: ReadonlyMap<string, TrackedProduct>): Script {
  return ({ params }) => ({
    json: {
      products: (params.asin ?? '').split(',').flatMap((asin) => {
        const product = products.get(asin);
        if (!product) return [];
        const known = { title: `Thing ${asin}`, images: [{ l: `${asin}.jpg` }] };
        return [{ asin, domainId: 1, productType: 0, ...known, stats: statsOf(product) }];
      }),
    },
  });
}

/** The body of a request for a tracker that checks every two hours, when no answer is in the cache. */
export function everyTwoHours(asins: readonly string[], fields: Record<string, unknown> = {}) {
  return {
    name: 'Cheap things',
    cron: '0 */2 * * *',
    domain: 1,
    asins,
    conditions: [{ type: 'price_below', value: 2000 }],
    quietHours: 0,
    ...fields,
  };
}

/** Creates a tracker. It is deleted after the test, so that it has no checks in later ones. */
export async function createTracker(client: Client, body: unknown): Promise<TrackerView> {
  const reply = await client.post('/api/trackers', body);
  expect(reply.json).toMatchObject({ code: '0000' });
  expect(reply.status).toBe(201);
  const { links } = reply.json.data;
  onTestFinished(async () => void (await client.get(links.self, { method: 'DELETE' })));
  return reply.json.data;
}

export async function trackerNow(
  client: Client,
  { trackerId }: Pick<TrackerView, 'trackerId'>,
): Promise<TrackerView> {
  const { current: _, ...tracker } = (await client.get(`/api/trackers/${trackerId}`)).json.data;
  return tracker;
}

/** The newest first. */
export async function alertsOf(
  client: Client,
  { trackerId }: Pick<TrackerView, 'trackerId'>,
): Promise<AlertView[]> {
  return (await client.get(`/api/trackers/${trackerId}/alerts`)).json.data.alerts;
}

/** Moves time to the next check, waits for its end, and returns the alerts that the tracker has, the newest first. */
export async function nextLook(
  souk: Souk,
  client: Client,
  tracker: Pick<TrackerView, 'trackerId'>,
  stepMs?: number,
): Promise<AlertView[]> {
  const dueAt = souk.clock.now() + 2 * HOUR_MS - (souk.clock.now() % (2 * HOUR_MS));
  souk.clock.advance(dueAt - souk.clock.now());
  const hasEnded = async () => {
    const { rowCount } = await souk.database.query(
      `select from schedule_runs r join batches b on b.id = r.batch_id
       where r.schedule_id = $1 and r.due_at >= $2 and b.finished_at is not null`,
      [tracker.trackerId, new Date(dueAt)],
    );
    return (rowCount ?? 0) > 0;
  };
  await comesAbout(souk, hasEnded, stepMs);
  return alertsOf(client, tracker);
}
