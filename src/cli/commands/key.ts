import type { Command } from 'commander';
import { z } from 'zod';
import { type AccountKey, listKeys } from '../../accounts/account-keys.ts';
import { keyActs } from '../../operator/acts/key-acts.ts';
import { accountId, readInput } from '../input.ts';
import { knownAccount } from '../operator-database.ts';
import { OperatorError } from '../operator-error.ts';
import { moment, type Report, table } from '../report.ts';
import { type Context, type Given, onDatabase } from '../reporting.ts';

const ofAccount = z.object({ account: accountId });

export function registerKey(program: Command): void {
  const key = program.command('key').description('manages the API keys of an account');
  const command = (name: string, description: string) =>
    key.command(name).description(description).requiredOption('--account <ID>', 'number of the account');
  onDatabase(command('list', 'lists keys with prefix, state and expiry'), list);
  onDatabase(
    command('create', 'creates an additional key, which is shown only once').option(
      '--test',
      'creates a test key: its calls are free and get data of the demo provider',
    ),
    create,
  );
  onDatabase(command('reset', 'creates a key and lets all others expire within 30 minutes'), reset);
  onDatabase(
    command('revoke', 'revokes keys immediately').option(
      '--key <K>',
      'id, prefix or full key of the key to revoke (default: all keys of the account)',
    ),
    revoke,
  );
}

async function list({ database, now }: Context, given: Given): Promise<Report> {
  const { account } = readInput(ofAccount, given);
  await knownAccount(database, account);
  const keys = await listKeys(database, account, now);
  return { data: keys, text: keyTable(keys) };
}

async function create(context: Context, given: Given): Promise<Report> {
  const { account, test } = readInput(ofAccount.extend({ test: z.boolean().default(false) }), given);
  await knownAccount(context.database, account);
  const key = await keyActs.create(context, account, test ? 'test' : 'live');
  return { data: { accountId: account, key }, text: newKeyText(key) };
}

async function reset(context: Context, given: Given): Promise<Report> {
  const { account } = readInput(ofAccount, given);
  await knownAccount(context.database, account);
  const { key, olderKeysUntil } = await keyActs.reset(context, account);
  return {
    data: { accountId: account, key, olderKeysUntil },
    text: `${newKeyText(key)}\nOlder keys of the account work until ${moment(olderKeysUntil)} at the latest.`,
  };
}

async function revoke(context: Context, given: Given): Promise<Report> {
  const { account, key = 'all' } = readInput(ofAccount.extend({ key: z.string().trim().optional() }), given);
  await knownAccount(context.database, account);
  const keys = await keyActs.revoke(context, account, key);
  // The text may be a key, so the message does not repeat it.
  if (keys.length === 0)
    throw new OperatorError(`Account ${account} has no ${key === 'all' ? 'key to revoke' : 'such key'}.`);
  return { data: keys, text: keyTable(keys) };
}

const newKeyText = (key: string) => `Key: ${key}\nThis is the only time it is shown.`;

function keyTable(keys: readonly AccountKey[]): string {
  return table(
    ['ID', 'Prefix', 'State', 'Created', 'Valid until', 'Revoked'],
    keys.map(({ id, prefix, state, createdAt, expiresAt, revokedAt }) => [
      ...[String(id), `${prefix}...`, state, createdAt],
      ...[revokedAt ? null : expiresAt, revokedAt],
    ]),
  );
}
