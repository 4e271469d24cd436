import type { Command } from 'commander';
import { z } from 'zod';
import {
  type Account,
  type AccountState,
  createAccount,
  listAccounts,
  setAccountState,
} from '../../accounts/accounts.ts';
import { accountId, accountName, email, readInput } from '../input.ts';
import { noAccount } from '../operator-database.ts';
import { OperatorError } from '../operator-error.ts';
import { type Report, table } from '../report.ts';
import { type Context, type Given, onDatabase } from '../reporting.ts';

export function registerAccount(program: Command): void {
  const account = program.command('account').description('accounts of customers');
  onDatabase(
    account
      .command('create')
      .description('create an account; it has no key and no units yet')
      .requiredOption('--email <E>', 'e-mail address, one account each')
      .option('--name <N>', 'name to show (default: the e-mail address)'),
    create,
  );
  onDatabase(account.command('list').description('all accounts'), list);
  for (const [name, state] of [
    ['disable', 'disabled'],
    ['enable', 'active'],
  ] as const) {
    const effect =
      state === 'active' ? 'let an account call again' : 'refuse all calls of an account, at once, with 403';
    onDatabase(
      account.command(name).description(effect).argument('<ID>', 'number of the account'),
      setState(state),
    );
  }
}

async function create({ database, now }: Context, given: Given): Promise<Report> {
  const input = readInput(z.object({ email, name: accountName.optional() }), given);
  const account = await createAccount(database, input.email, input.name ?? input.email, now);
  if (!account) throw new OperatorError(`There is an account of ${input.email} already.`);
  return { data: account, text: accountTable([account]) };
}

async function list({ database }: Context): Promise<Report> {
  const accounts = await listAccounts(database);
  return { data: accounts, text: accountTable(accounts) };
}

function setState(state: AccountState) {
  return async ({ database }: Context, given: Given): Promise<Report> => {
    const { id } = readInput(z.object({ id: accountId }), given);
    const account = await setAccountState(database, id, state);
    if (!account) throw noAccount(id);
    return { data: account, text: accountTable([account]) };
  };
}

function accountTable(accounts: readonly Account[]): string {
  return table(
    ['ID', 'E-mail', 'Name', 'State', 'Created'],
    accounts.map(({ id, email, name, state, createdAt }) => [String(id), email, name, state, createdAt]),
  );
}
