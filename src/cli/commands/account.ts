import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { type Account, listAccounts } from '../../accounts/accounts.ts';
import { RESET_LIFETIME_MS, resetPath } from '../../accounts/passwords.ts';
import { accountActs, personalDataActs } from '../../operator/acts/account-acts.ts';
import { ErasureRefused } from '../../operator/personal-data/erasure.ts';
import {
  accountId,
  command,
  email,
  group,
  knownAccount,
  moment,
  noAccount,
  OF_ACCOUNT,
  OperatorError,
  ofAccount,
  reportOf,
} from '../terminal.ts';

const show = reportOf<Account>([
  ['ID', ({ id }) => String(id)],
  ['E-mail', ({ email }) => email],
  ['Name', ({ name }) => name],
  ['State', ({ state }) => state],
  ['Created', ({ createdAt }) => createdAt],
]);

const BY_ID = { '<ID>': 'number of the account' };
const byId = z.object({ id: accountId });

const accountName = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(100, 'must have at most 100 characters')
  .regex(/^\P{C}*$/u, 'must not have control characters');

const create = command({
  name: 'create',
  description: 'creates an account without keys or units',
  required: { '--email <E>': 'e-mail address, unique' },
  options: { '--name <N>': 'display name (default: the e-mail address)' },
  input: z.object({ email, name: accountName.optional() }),
  async run(context, { email: address, name = address }) {
    const account = await accountActs.create(context, { email: address, name });
    if (!account) throw new OperatorError(`${address} already has an account.`);
    return show(account);
  },
});

const list = command({
  name: 'list',
  description: 'lists all accounts',
  run: async ({ database }) => show(await listAccounts(database)),
});

const password = command({
  name: 'password',
  description: 'creates a link that sets a new password; it can be used once and is valid for one day',
  required: OF_ACCOUNT,
  input: ofAccount,
  async run(context, { account }) {
    const { database, config, now } = context;
    const { email: address } = await knownAccount(database, account);
    const token = await accountActs.createReset(context, account);
    if (token === null) throw new OperatorError(`Account ${account} has no owner.`);
    const link = `${config.PUBLIC_URL ?? `http://127.0.0.1:${config.PORT}`}${resetPath(token)}`;
    const until = new Date(now + RESET_LIFETIME_MS);
    return {
      data: { accountId: account, email: address, link, until },
      text: `${link}\nThe link sets the password of ${address}. It can be used once, until ${moment(until)}.`,
    };
  },
});

const confirm = command({
  name: 'confirm',
  description: 'confirms the e-mail address of an account, which TRIALS=confirmed requires',
  arguments: BY_ID,
  input: byId,
  async run(context, { id }) {
    const account = await accountActs.confirmEmail(context, id);
    if (!account) throw noAccount(id);
    return show(account);
  },
});

const exportData = command({
  name: 'export',
  description: 'writes the data of an account to a file, as one JSON document without secrets',
  required: { ...OF_ACCOUNT, '--out <FILE>': 'path of the new file' },
  input: ofAccount.extend({ out: z.string().min(1) }),
  async run(context, { account, out }) {
    await knownAccount(context.database, account);
    const pieces = await personalDataActs.export(context, account);
    try {
      // The file has personal data, so only its owner may read it.
      await pipeline(Readable.from(pieces), createWriteStream(out, { flags: 'wx', mode: 0o600 }));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST')
        throw new OperatorError(`The file ${out} exists. Choose another path.`);
      throw error;
    }
    return {
      data: { accountId: account, file: out },
      text: `Wrote the data of account ${account} to ${out}.`,
    };
  },
});

const erase = command({
  name: 'erase',
  description: 'deletes the personal data of an account in seven days',
  required: OF_ACCOUNT,
  input: ofAccount,
  async run(context, { account }) {
    const eraseAt = await personalDataActs.requestErasure(context, account).catch(refuseErased);
    if (!eraseAt) throw new OperatorError(`Account ${account} does not exist, or is erased.`);
    return {
      data: { accountId: account, eraseAt },
      text: `Account ${account} is erased at ${moment(eraseAt)}. \`account keep --account ${account}\` undoes this.`,
    };
  },
});

const keep = command({
  name: 'keep',
  description: 'undoes `account erase` within the seven days',
  required: OF_ACCOUNT,
  input: ofAccount,
  async run(context, { account }) {
    if (!(await personalDataActs.cancelErasure(context, account)))
      throw new OperatorError(`Account ${account} has no planned erasure.`);
    return { data: { accountId: account, eraseAt: null }, text: `Account ${account} is kept.` };
  },
});

const resetTwoFactor = command({
  name: 'reset2fa',
  description:
    'turns two-factor sign-in of an account off, for an owner who has lost the app and the recovery codes',
  arguments: BY_ID,
  input: byId,
  async run(context, { id }) {
    await knownAccount(context.database, id);
    const wasOn = await accountActs.removeTwoFactor(context, id);
    const text = wasOn ? 'Two-factor sign-in is off.' : 'Two-factor sign-in was not on.';
    return { data: { accountId: id, wasOn }, text };
  },
});

function setState(name: string, state: 'active' | 'disabled', description: string) {
  return command({
    name,
    description,
    arguments: BY_ID,
    input: byId,
    async run(context, { id }) {
      const account = await accountActs.setState(context, id, state).catch(refuseErased);
      if (!account) throw noAccount(id);
      return show(account);
    },
  });
}

/** The error of the command for an account that is erased, or cannot be erased now. */
function refuseErased(error: unknown): never {
  throw error instanceof ErasureRefused ? new OperatorError(error.message, { cause: error }) : error;
}

export const accountCommands = group('account', 'manages accounts of customers', [
  create,
  list,
  password,
  confirm,
  exportData,
  erase,
  keep,
  resetTwoFactor,
  setState('disable', 'disabled', 'refuses all calls of an account with 403, immediately'),
  setState('enable', 'active', 'accepts calls of an account again'),
]);
