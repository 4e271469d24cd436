import { onTestFinished } from 'vitest';
import { createLogger } from '../../src/platform/log.ts';
import { enqueue } from '../../src/webhooks/deliveries.ts';
import { type Deliveries, type DeliveryDeps, startDeliveries } from '../../workers/background/deliveries.ts';
import type { Client } from './client.ts';
import type { Souk, TestAccount } from './souk.ts';

/** A customer who has a signing secret. */
export interface WebhookCustomer extends TestAccount {
  client: Client;
  secret: string;
}

export async function webhookCustomer(souk: Souk): Promise<WebhookCustomer> {
  const account = await souk.account();
  const client = souk.clientOf(account.key);
  const { json } = await client.post('/api/webhooks/secret', {});
  return { ...account, client, secret: json.data.secret };
}

/** Starts a process's loop of deliveries on the clock and database of this service; it is closed after the test. */
export function startSending(souk: Souk, options: Partial<DeliveryDeps> = {}): Deliveries {
  const { database, clock, logLines } = souk;
  const log = createLogger('debug', { write: (line) => void logLines.push(line) });
  const deliveries = startDeliveries({ database, clock, log, allowPrivate: true, ...options });
  onTestFinished(() => deliveries.close());
  return deliveries;
}

/** Runs one round of a process. Resolves when the due deliveries are sent and recorded. */
export async function sendDue(souk: Souk, options: Partial<DeliveryDeps> = {}): Promise<void> {
  await startSending(souk, options).close();
}

/** Creates a delivery. @returns its id. */
export function enqueueEvent(
  souk: Souk,
  accountId: number,
  url: string,
  data: unknown = {},
): Promise<string> {
  return enqueue(souk.database, { accountId, url, type: 'thing.happened', data }, souk.clock.now());
}

export interface StoredDelivery {
  state: string;
  attempts: number;
  retries: number;
  next_attempt_at: Date | null;
  claimed_until: Date | null;
  last_status: number | null;
  last_error: string | null;
}

export async function storedDelivery({ database }: Souk, id: string): Promise<StoredDelivery> {
  const { rows } = await database.query<StoredDelivery>('select * from webhook_deliveries where id = $1', [
    id,
  ]);
  const [stored] = rows;
  if (!stored) throw new Error(`There is no delivery ${id}.`);
  return stored;
}
