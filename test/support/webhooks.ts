import { onTestFinished } from 'vitest';
import { enqueue } from '../../src/outbox/webhooks/deliveries.ts';
import { createWebhookSender, type WebhookSenderDeps } from '../../src/outbox/webhooks/webhook-sender.ts';
import type { WorkLoop } from '../../src/platform/clock.ts';
import { createLogger } from '../../src/platform/log.ts';
import { startOutbox } from '../../workers/background/outbox.ts';
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

/** Starts a process's loop that sends webhooks on the clock and database of this service; it is closed after the test. */
export function startSending(souk: Souk, options: Partial<WebhookSenderDeps> = {}): WorkLoop {
  const { database, clock, logLines } = souk;
  const log = createLogger('debug', { write: (line) => void logLines.push(line) });
  const deps = { database, clock, log, allowPrivate: true, ...options };
  const loop = startOutbox(deps, [createWebhookSender(deps)]);
  onTestFinished(() => loop.close());
  return loop;
}

/** Runs one round of a process. Resolves when the due deliveries are sent and recorded. */
export async function sendDue(souk: Souk, options: Partial<WebhookSenderDeps> = {}): Promise<void> {
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
  const { rows } = await database.query<StoredDelivery>('select * from outbox where id = $1', [id]);
  const [stored] = rows;
  if (!stored) throw new Error(`There is no delivery ${id}.`);
  return stored;
}
