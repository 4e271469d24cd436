import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { lockAccount } from '../../accounts/accounts.ts';
import { SCHEMA_NAMES } from '../../operations/answers.ts';
import type { Database } from '../../platform/db/pool.ts';
import { firstRow } from '../../platform/db/rows.ts';
import { sealColumn } from '../../platform/db/seal-column.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { createSecretBox, type SecretBox } from '../../platform/secret-box.ts';

/** Stores secrets as they are. */
const PLAIN = createSecretBox();

/** How long a rotated secret still signs alongside the new one, so that receivers can switch without a gap. */
export const SECRET_OVERLAP_MS = DAY_MS;

/** Each secret adds a signature to a header. With more secrets, the oldest stops signing immediately. */
const MOST_SIGNING = 5;

export const secretSchema = z
  .object({
    createdAt: z.iso.datetime(),
    previousSignsUntil: z.iso
      .datetime()
      .nullable()
      .describe('Time until which the previous secret also signs; null if only the current one does'),
  })
  .register(SCHEMA_NAMES, { id: 'WebhookSecret' });

/** The public facts about an account's signing secrets. */
interface SecretState {
  createdAt: Date;
  /** When the last rotated secret stops signing; null if only the present one signs. */
  previousSignsUntil: Date | null;
}

const SECRET_BYTES = 32;

/** Returns a new signing secret in the form of Standard Webhooks: `whsec_` and 32 random bytes in base64. */
export function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/** @returns null if the account has no secret yet. */
export function findSecretState(database: Database, accountId: number, now: number) {
  return firstRow<SecretState>(
    database,
    `select created_at as "createdAt",
       (select max(expires_at) from webhook_secrets where account_id = $1 and expires_at > $2) as "previousSignsUntil"
     from webhook_secrets where account_id = $1 and expires_at is null`,
    [accountId, new Date(now)],
  );
}

/** Creates a secret for an account. Earlier ones still sign for a day at most. @returns the secret. It cannot be read again. */
export function rotateSecret(
  database: Database,
  accountId: number,
  now: number,
  box: SecretBox = PLAIN,
): Promise<SecretState & { secret: string }> {
  const secret = newSecret();
  const createdAt = new Date(now);
  return inTransaction(database, async (client) => {
    // Without the lock, two concurrent rotations would each make their secret the present one.
    await lockAccount(client, accountId);
    await client.query(
      `delete from webhook_secrets where account_id = $1 and (expires_at <= $2 or id in (
         select id from webhook_secrets where account_id = $1 order by id desc offset $3))`,
      [accountId, createdAt, MOST_SIGNING - 1],
    );
    await client.query(
      'update webhook_secrets set expires_at = $2 where account_id = $1 and expires_at is null',
      [accountId, new Date(now + SECRET_OVERLAP_MS)],
    );
    const { rows } = await client.query<{ until: Date | null }>(
      'select max(expires_at) as until from webhook_secrets where account_id = $1',
      [accountId],
    );
    await client.query('insert into webhook_secrets (account_id, secret, created_at) values ($1, $2, $3)', [
      accountId,
      box.seal(secret, purposeOf(accountId)),
      createdAt,
    ]);
    return { secret, createdAt, previousSignsUntil: rows[0]?.until ?? null };
  });
}

/**
 * Returns the secrets that sign for each of these accounts, the newest first.
 * @param onUnreadable is called for an account with a secret that no key of the box opens; that secret does not sign.
 */
export async function signingSecrets(
  database: Database,
  accountIds: readonly number[],
  now: number,
  { box = PLAIN, onUnreadable }: { box?: SecretBox; onUnreadable?: (accountId: number) => void } = {},
): Promise<Map<number, string[]>> {
  const { rows } = await database.query<{ accountId: number; secrets: string[] }>({
    name: 'signing-secrets',
    text: `select account_id as "accountId", array_agg(secret order by id desc) as secrets from webhook_secrets
      where account_id = any($1) and (expires_at is null or expires_at > $2) group by account_id`,
    values: [accountIds, new Date(now)],
  });
  return new Map(
    rows.map(({ accountId, secrets }) => {
      const opened = secrets.map((secret) => box.open(secret, purposeOf(accountId)));
      if (opened.includes(null)) onUnreadable?.(accountId);
      return [accountId, opened.filter((secret) => secret !== null)];
    }),
  );
}

/**
 * Checks that an account can use a webhook. No secret is created automatically, because no receiver could verify a
 * signature by a secret that its owner has never seen.
 * @param parameter the parameter with the webhook's address.
 * @throws SoukError VALIDATION_FAILED if there is no secret yet.
 */
export async function requireSecret(database: Database, accountId: number, parameter: string): Promise<void> {
  const { rowCount } = await database.query({
    name: 'has-secret',
    text: 'select 1 from webhook_secrets where account_id = $1 and expires_at is null',
    values: [accountId],
  });
  if (rowCount !== 0) return;
  throw invalidParameters([
    { parameter, problem: 'needs a signing secret: create one with POST /api/webhooks/secret first' },
  ]);
}

/** Encrypts stored secrets with the first key of the box. */
export function sealSecrets(database: Database, box: SecretBox): Promise<void> {
  const secrets = { table: 'webhook_secrets', column: 'secret', subject: 'account_id' };
  return sealColumn(database, box, secrets, purposeOf);
}

const purposeOf = (accountId: number) => `webhook secret of account ${accountId}`;

/** Deletes secrets that no longer sign. */
export async function purgeSecrets(database: Database, now: number): Promise<void> {
  await database.query('delete from webhook_secrets where expires_at <= $1', [new Date(now)]);
}
