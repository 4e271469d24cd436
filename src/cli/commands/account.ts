import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import { z } from 'zod';
import { type Account, listAccounts } from '../../accounts/accounts.ts';
import { RESET_LIFETIME_MS, resetPath } from '../../accounts/passwords.ts';
import { readConfig } from '../../config/config.ts';
import { accountActs, personalDataActs } from '../../operator/acts/account-acts.ts';
import { ErasureRefused } from '../../operator/personal-data/erasure.ts';
import {
  accountId,
  accountName,
  type Context,
  email,
  type Given,
  knownAccount,
  moment,
  noAccount,
  OperatorError,
  onDatabase,
  type Report,
  readInput,
  table,
} from '../terminal.ts';

export function registerAccount(program: Command): void {
  const account = program.command('account').description('manages accounts of customers');
  onDatabase(
    account
      .command('create')
      .description('creates an account without keys or units')
      .requiredOption('--email <E>', 'e-mail address, unique')
      .option('--name <N>', 'display name (default: the e-mail address)'),
    create,
  );
  onDatabase(account.command('list').description('lists all accounts'), list);
  onDatabase(
    account
      .command('password')
      .description('creates a link that sets a new password; it can be used once and is valid for one day')
      .requiredOption('--account <ID>', 'number of the account'),
    password,
  );
  onDatabase(
    account
      .command('confirm')
      .description('confirms the e-mail address of an account, which TRIALS=confirmed requires')
      .argument('<ID>', 'number of the account'),
    confirm,
  );
  onDatabase(
    account
      .command('export')
      .description('writes the data of an account to a file, as one JSON document without secrets')
      .requiredOption('--account <ID>', 'number of the account')
      .requiredOption('--out <FILE>', 'path of the new file'),
    exportData,
  );
  onDatabase(
    account
      .command('erase')
      .description('deletes the personal data of an account in seven days')
      .requiredOption('--account <ID>', 'number of the account'),
    erase,
  );
  onDatabase(
    account
      .command('keep')
      .description('undoes `account erase` within the seven days')
      .requiredOption('--account <ID>', 'number of the account'),
    keep,
  );
  onDatabase(
    account
      .command('reset2fa')
      .description(
        'turns two-factor sign-in of an account off, for an owner who has lost the app and the recovery codes',
      )
      .argument('<ID>', 'number of the account'),
    resetTwoFactor,
  );
  for (const [name, state] of [
    ['disable', 'disabled'],
    ['enable', 'active'],
  ] as const) {
    const effect =
      state === 'active'
        ? 'accepts calls of an account again'
        : 'refuses all calls of an account with 403, immediately';
    onDatabase(
      account.command(name).description(effect).argument('<ID>', 'number of the account'),
      setState(state),
    );
  }
}

async function password(context: Context, given: Given): Promise<Report> {
  const { database, env, now } = context;
  const { account } = readInput(z.object({ account: accountId }), given);
  const { email } = await knownAccount(database, account);
  const { PUBLIC_URL, PORT } = readConfig(env);
  const token = await accountActs.createReset(context, account);
  if (token === null) throw new OperatorError(`Account ${account} has no owner.`);
  const path = resetPath(token);
  const link = `${PUBLIC_URL ?? `http://127.0.0.1:${PORT}`}${path}`;
  const until = new Date(now + RESET_LIFETIME_MS);
  return {
    data: { accountId: account, email, link, until },
    text: `${link}\nThe link sets the password of ${email}. It can be used once, until ${moment(until)}.`,
  };
}

async function create(context: Context, given: Given): Promise<Report> {
  const { email: address, name = address } = readInput(
    z.object({ email, name: accountName.optional() }),
    given,
  );
  const account = await accountActs.create(context, { email: address, name });
  if (!account) throw new OperatorError(`${address} already has an account.`);
  return { data: account, text: accountTable([account]) };
}

async function list({ database }: Context): Promise<Report> {
  const accounts = await listAccounts(database);
  return { data: accounts, text: accountTable(accounts) };
}

async function confirm(context: Context, given: Given): Promise<Report> {
  const { id } = readInput(z.object({ id: accountId }), given);
  const account = await accountActs.confirmEmail(context, id);
  if (!account) throw noAccount(id);
  return { data: account, text: accountTable([account]) };
}

async function resetTwoFactor(context: Context, given: Given): Promise<Report> {
  const { id } = readInput(z.object({ id: accountId }), given);
  await knownAccount(context.database, id);
  const wasOn = await accountActs.removeTwoFactor(context, id);
  const text = wasOn ? 'Two-factor sign-in is off.' : 'Two-factor sign-in was not on.';
  return { data: { accountId: id, wasOn }, text };
}

function setState(state: 'active' | 'disabled') {
  return async (context: Context, given: Given): Promise<Report> => {
    const { id } = readInput(z.object({ id: accountId }), given);
    const account = await accountActs.setState(context, id, state).catch(refuseErased);
    if (!account) throw noAccount(id);
    return { data: account, text: accountTable([account]) };
  };
}

/** The error of the command for an account that is erased, or cannot be erased now. */
function refuseErased(error: unknown): never {
  throw error instanceof ErasureRefused ? new OperatorError(error.message, { cause: error }) : error;
}

async function exportData(context: Context, given: Given): Promise<Report> {
  const { account, out } = readInput(z.object({ account: accountId, out: z.string().min(1) }), given);
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
  return { data: { accountId: account, file: out }, text: `Wrote the data of account ${account} to ${out}.` };
}

async function erase(context: Context, given: Given): Promise<Report> {
  const { account } = readInput(z.object({ account: accountId }), given);
  const eraseAt = await personalDataActs.requestErasure(context, account).catch(refuseErased);
  if (!eraseAt) throw new OperatorError(`Account ${account} does not exist, or is erased.`);
  return {
    data: { accountId: account, eraseAt },
    text: `Account ${account} is erased at ${moment(eraseAt)}. \`account keep --account ${account}\` undoes this.`,
  };
}

async function keep(context: Context, given: Given): Promise<Report> {
  const { account } = readInput(z.object({ account: accountId }), given);
  if (!(await personalDataActs.cancelErasure(context, account)))
    throw new OperatorError(`Account ${account} has no planned erasure.`);
  return { data: { accountId: account, eraseAt: null }, text: `Account ${account} is kept.` };
}

function accountTable(accounts: readonly Account[]): string {
  return table(
    ['ID', 'E-mail', 'Name', 'State', 'Created'],
    accounts.map(({ id, email, name, state, createdAt }) => [String(id), email, name, state, createdAt]),
  );
}
