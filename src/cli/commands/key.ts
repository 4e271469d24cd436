import type { Command } from 'commander';
import { z } from 'zod';
import { type AccountKey, listKeys } from '../../accounts/account-keys.ts';
import { type KeySettings, readKeySettings, SCOPES, WITHOUT_LIMITS } from '../../accounts/key-settings.ts';
import { keyActs } from '../../operator/acts/account-acts.ts';
import { SoukError } from '../../platform/errors.ts';
import {
  accountId,
  type Context,
  type Given,
  knownAccount,
  moment,
  OperatorError,
  onDatabase,
  type Report,
  readInput,
  table,
  wholeNumber,
} from '../terminal.ts';

const MOST_KEY_ID = 999_999_999_999_999;

const ofAccount = z.object({ account: accountId });

export function registerKey(program: Command): void {
  const key = program.command('key').description('manages the API keys of an account');
  const command = (name: string, description: string) =>
    key.command(name).description(description).requiredOption('--account <ID>', 'number of the account');
  onDatabase(command('list', 'lists keys with name, prefix, state, limits and expiry'), list);
  onDatabase(
    withLimits(command('create', 'creates an additional key, which is shown only once')).option(
      '--test',
      'creates a test key: its calls are free and get data of the demo provider',
    ),
    create,
  );
  onDatabase(
    withLimits(
      command('update', 'changes the given settings of a key; an empty text removes a limit'),
    ).requiredOption('--key <ID>', 'id of the key'),
    update,
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

function withLimits(command: Command): Command {
  return command
    .option('--name <N>', 'name in lists')
    .option('--scope <LIST>', `what the key may do: ${SCOPES.join(', ')} (default: all but keys)`, together)
    .option('--cap-day <N>', 'units that it may use in a day (UTC)')
    .option('--cap-month <N>', 'units that it may use in a month (UTC)')
    .option('--expires <T>', 'when it stops working, such as 2027-01-31')
    .option('--network <LIST>', 'addresses or networks from which it may be used', together);
}

/** An option with a list can be given several times: the lists count together. */
function together(list: string, before: string | undefined): string {
  return before === undefined ? list : `${before},${list}`;
}

const OPTIONS = {
  name: 'name',
  scope: 'scopes',
  capDay: 'capDay',
  capMonth: 'capMonth',
  expires: 'expiresAt',
  network: 'networks',
} as const;

/** Applies the options to settings. @throws OperatorError that names each invalid option. */
function settingsOf(present: KeySettings, given: Given, now: number): KeySettings {
  const text = Object.fromEntries(
    Object.entries(OPTIONS).flatMap(([option, field]) => {
      const value = given[option];
      return typeof value === 'string' ? [[field, value]] : [];
    }),
  );
  const read = readKeySettings(present, text, now);
  if ('settings' in read) return read.settings;
  const faults = Object.entries(OPTIONS).flatMap(([option, field]) =>
    read.faults[field] === undefined ? [] : [`${optionName(option)} ${read.faults[field]}`],
  );
  throw new OperatorError(`${faults.join('; ')}.`);
}

const optionName = (option: string) =>
  `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

async function list({ database, now }: Context, given: Given): Promise<Report> {
  const { account } = readInput(ofAccount, given);
  await knownAccount(database, account);
  const keys = await listKeys(database, account, now);
  return { data: keys, text: keyTable(keys) };
}

async function create(context: Context, given: Given): Promise<Report> {
  const { account, test } = readInput(ofAccount.extend({ test: z.boolean().default(false) }), given);
  await knownAccount(context.database, account);
  const settings = settingsOf(WITHOUT_LIMITS, given, context.now);
  const key = await keyActs.create(context, account, settings, test ? 'test' : 'live');
  return { data: { accountId: account, key }, text: newKeyText(key) };
}

async function update(context: Context, given: Given): Promise<Report> {
  const { account, key: keyId } = readInput(ofAccount.extend({ key: wholeNumber(1, MOST_KEY_ID) }), given);
  await knownAccount(context.database, account);
  const changed = await keyActs
    .update(context, account, keyId, (present) => settingsOf(present, given, context.now))
    .catch((error: unknown) => {
      throw error instanceof SoukError ? new OperatorError(error.message) : error;
    });
  return { data: changed, text: keyTable([changed]) };
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
    [
      'ID',
      'Prefix',
      'State',
      'Created',
      'Valid until',
      'Revoked',
      'Name',
      'Scopes',
      'Units a day',
      'A month',
    ],
    keys.map(
      ({
        id,
        prefix,
        connection,
        state,
        createdAt,
        expiresAt,
        revokedAt,
        name,
        scopes,
        capDay,
        capMonth,
      }) => [
        String(id),
        connection ? 'connection' : `${prefix}...`,
        state,
        createdAt,
        revokedAt ? null : expiresAt,
        revokedAt,
        name,
        scopes?.join(', ') ?? 'all',
        capDay?.toString() ?? null,
        capMonth?.toString() ?? null,
      ],
    ),
  );
}
