import { expect, test } from 'vitest';
import { digestOf } from '../../src/platform/fingerprint.ts';
import { createSecretBox } from '../../src/platform/secret-box.ts';
import { addAccount, listAccounts } from '../../src/upstream/stored-accounts.ts';
import { openTestDatabase } from '../support/database.ts';

const MINUTE = 60_000;
const database = await openTestDatabase();
const box = createSecretBox(['s'.repeat(32)]);

test.each([
  ['name', { name: 'main', key: 'another-key' }],
  ['key', { name: 'another', key: 'key-of-main' }],
])(
  'an account with the %s of one in KEEPA_API_KEY can be added once no worker has it',
  async (what, account) => {
    const provider = `provider ${what}`;
    const seenAt = Date.now();
    await database.query(
      `insert into provider_accounts (provider, name, key_digest, created_at, seen_at) values ($1, 'main', $2, $3, $3)`,
      [provider, digestOf('key-of-main'), new Date(seenAt)],
    );
    const add = (now: number) => addAccount(database, box, { provider, ...account, now });
    expect(await add(seenAt + 3 * MINUTE - 1)).toBe(false);
    const later = seenAt + 3 * MINUTE;
    expect(await add(later)).toBe(true);
    expect(await listAccounts(database, provider, later)).toMatchObject([
      { name: account.name, source: 'console' },
    ]);
    expect(await add(later + 24 * 60 * MINUTE)).toBe(false);
  },
);
