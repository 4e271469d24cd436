import { readFile, writeFile } from 'node:fs/promises';
import { ensureAccount } from '../accounts/accounts.ts';
import { createKey, hashKey, isWellFormed } from '../accounts/authentication.ts';
import { grantSubscription, upsertPlan } from '../billing/grants.ts';
import { monthsAfter } from '../platform/calendar.ts';
import type { Database } from '../platform/db/pool.ts';

/**
 * Ensures that the demo account has a subscription and a valid key.
 * @param keyFile the file with the key, since the database stores only its digest.
 * @returns the key, which stays the same while file and database agree.
 */
export async function ensureDemoAccount(database: Database, keyFile: string, now: number): Promise<string> {
  const accountId = await ensureAccount(database, 'demo@souk.example', 'Demo', now);
  const { rowCount: subscribed } = await database.query(
    'select 1 from subscriptions where account_id = $1 and starts_at <= $2 and ends_at > $2',
    [accountId, new Date(now)],
  );
  if (!subscribed) {
    const planId = await upsertPlan(database, {
      code: 'demo',
      name: 'Demo',
      minuteLimit: 600,
      dailyLimit: 50_000,
      monthlyLimit: 1_000_000,
    });
    const startsAt = new Date(now);
    const endsAt = monthsAfter(startsAt, 12);
    await grantSubscription(database, {
      accountId,
      wallet: 'general',
      planId,
      quantity: 1,
      startsAt,
      endsAt,
    });
  }
  const known = (await readFile(keyFile, 'utf8').catch(() => '')).trim();
  if (isWellFormed(known) && (await isKeyOf(database, known, accountId))) return known;
  const key = await createKey(database, accountId, now);
  await writeFile(keyFile, `${key}\n`, { mode: 0o600 });
  return key;
}

async function isKeyOf(database: Database, key: string, accountId: number): Promise<boolean> {
  const { rowCount } = await database.query(
    'select 1 from api_keys where hash = $1 and account_id = $2 and revoked_at is null and expires_at is null',
    [hashKey(key), accountId],
  );
  return rowCount !== 0;
}
