import { z } from 'zod';
import { type AccountKey, listKeys } from '../../accounts/account-keys.ts';
import { type KeySettings, readKeySettings, SCOPES, WITHOUT_LIMITS } from '../../accounts/key-settings.ts';
import { keyActs } from '../../operator/acts/account-acts.ts';
import { wholeNumber } from '../../operator/fields.ts';
import { SoukError } from '../../platform/errors.ts';
import {
  command,
  group,
  knownAccount,
  moment,
  OF_ACCOUNT,
  OperatorError,
  ofAccount,
  optionName,
  reportOf,
} from '../terminal.ts';

const MOST_KEY_ID = 999_999_999_999_999;

const show = reportOf<AccountKey>([
  ['ID', ({ id }) => String(id)],
  ['Prefix', ({ prefix, connection }) => (connection ? 'connection' : `${prefix}...`)],
  ['State', ({ state }) => state],
  ['Created', ({ createdAt }) => createdAt],
  ['Valid until', ({ revokedAt, expiresAt }) => (revokedAt ? null : expiresAt)],
  ['Revoked', ({ revokedAt }) => revokedAt],
  ['Name', ({ name }) => name],
  ['Scopes', ({ scopes }) => scopes?.join(', ') ?? 'all'],
  ['Units a day', ({ capDay }) => capDay?.toString() ?? null],
  ['A month', ({ capMonth }) => capMonth?.toString() ?? null],
]);

/** An option with a list can be given several times: the lists count together. */
const together = (list: string, before: string | undefined) =>
  before === undefined ? list : `${before},${list}`;

const LIMITS = {
  '--name <N>': 'name in lists',
  '--scope <LIST>': [`what the key may do: ${SCOPES.join(', ')} (default: all but keys)`, together],
  '--cap-day <N>': 'units that it may use in a day (UTC)',
  '--cap-month <N>': 'units that it may use in a month (UTC)',
  '--expires <T>': 'when it stops working, such as 2027-01-31',
  '--network <LIST>': ['addresses or networks from which it may be used', together],
} as const;

/** The settings that the options change. */
const OPTIONS = {
  name: 'name',
  scope: 'scopes',
  capDay: 'capDay',
  capMonth: 'capMonth',
  expires: 'expiresAt',
  network: 'networks',
} as const;

type Option = keyof typeof OPTIONS;

const OPTION_NAMES = Object.keys(OPTIONS) as Option[];

const text = z.string().optional();

const withLimits = ofAccount.extend({
  name: text,
  scope: text,
  capDay: text,
  capMonth: text,
  expires: text,
  network: text,
});

/** Applies the options to settings. @throws OperatorError that names each invalid option. */
function settingsOf(
  present: KeySettings,
  given: Partial<Record<Option, string | undefined>>,
  now: number,
): KeySettings {
  const changes = Object.fromEntries(
    OPTION_NAMES.flatMap((option) => (given[option] === undefined ? [] : [[OPTIONS[option], given[option]]])),
  );
  const read = readKeySettings(present, changes, now);
  if ('settings' in read) return read.settings;
  const faults = OPTION_NAMES.flatMap((option) => {
    const fault = read.faults[OPTIONS[option]];
    return fault === undefined ? [] : [`${optionName(option)} ${fault}`];
  });
  throw new OperatorError(`${faults.join('; ')}.`);
}

const list = command({
  name: 'list',
  description: 'lists keys with name, prefix, state, limits and expiry',
  required: OF_ACCOUNT,
  input: ofAccount,
  async run({ database, now }, { account }) {
    await knownAccount(database, account);
    return show(await listKeys(database, account, now));
  },
});

const create = command({
  name: 'create',
  description: 'creates an additional key, which is shown only once',
  required: OF_ACCOUNT,
  options: {
    ...LIMITS,
    '--test': 'creates a test key: its calls are free and get data of the demo provider',
  },
  input: withLimits.extend({ test: z.boolean().default(false) }),
  async run(context, { account, test, ...given }) {
    await knownAccount(context.database, account);
    const settings = settingsOf(WITHOUT_LIMITS, given, context.now);
    const key = await keyActs.create(context, account, settings, test ? 'test' : 'live');
    return { data: { accountId: account, key }, text: newKeyText(key) };
  },
});

const update = command({
  name: 'update',
  description: 'changes the given settings of a key; an empty text removes a limit',
  required: { ...OF_ACCOUNT, '--key <ID>': 'id of the key' },
  options: LIMITS,
  input: withLimits.extend({ key: wholeNumber(1, MOST_KEY_ID) }),
  async run(context, { account, key, ...given }) {
    await knownAccount(context.database, account);
    const changed = await keyActs
      .update(context, account, key, (present) => settingsOf(present, given, context.now))
      .catch((error: unknown) => {
        throw error instanceof SoukError ? new OperatorError(error.message) : error;
      });
    return show(changed);
  },
});

const reset = command({
  name: 'reset',
  description: 'creates a key and lets all others expire within 30 minutes',
  required: OF_ACCOUNT,
  input: ofAccount,
  async run(context, { account }) {
    await knownAccount(context.database, account);
    const { key, olderKeysUntil } = await keyActs.reset(context, account);
    return {
      data: { accountId: account, key, olderKeysUntil },
      text: `${newKeyText(key)}\nOlder keys of the account work until ${moment(olderKeysUntil)} at the latest.`,
    };
  },
});

const revoke = command({
  name: 'revoke',
  description: 'revokes keys immediately',
  required: OF_ACCOUNT,
  options: { '--key <K>': 'id, prefix or full key of the key to revoke (default: all keys of the account)' },
  input: ofAccount.extend({ key: z.string().trim().default('all') }),
  async run(context, { account, key }) {
    await knownAccount(context.database, account);
    const keys = await keyActs.revoke(context, account, key);
    // The text may be a key, so the message does not repeat it.
    if (keys.length === 0)
      throw new OperatorError(`Account ${account} has no ${key === 'all' ? 'key to revoke' : 'such key'}.`);
    return show(keys);
  },
});

const newKeyText = (key: string) => `Key: ${key}\nThis is the only time it is shown.`;

export const keyCommands = group('key', 'manages the API keys of an account', [
  list,
  create,
  update,
  reset,
  revoke,
]);
