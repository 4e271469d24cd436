import type { Command } from 'commander';
import { z } from 'zod';
import { readConfig } from '../../config/config.ts';
import {
  accountNameField,
  accountStateField,
  newAccountFields,
  providerActs,
} from '../../operator/acts/provider-acts.ts';
import { createSecretBox } from '../../platform/secret-box.ts';
import { listAccounts } from '../../upstream/stored-accounts.ts';
import {
  type Context,
  type Given,
  OperatorError,
  onDatabase,
  providersInUse,
  type Report,
  readInput,
  table,
} from '../terminal.ts';

const named = z.object({ name: accountNameField });
const stateInput = named.extend({ state: accountStateField });

export function registerProviderAccounts(program: Command): void {
  const group = program
    .command('provider-accounts')
    .description('manages the accounts at the provider of product data');
  onDatabase(group.command('list').description('lists the accounts with their states'), list);
  onDatabase(
    group
      .command('add')
      .description('adds an account, whose key is in the environment variable PROVIDER_KEY')
      .argument('<NAME>', 'lower-case letters, digits and hyphens'),
    add,
  );
  onDatabase(
    group
      .command('set')
      .description('makes an account active, draining or paused')
      .argument('<NAME>', 'name of the account')
      .argument('<STATE>', 'active, draining or paused'),
    set,
  );
  onDatabase(
    group
      .command('remove')
      .description('removes an account that is not active, with its key')
      .argument('<NAME>', 'name of the account'),
    remove,
  );
}

async function list({ database, env, now }: Context): Promise<Report> {
  const accounts = await listAccounts(database, await providerOf(env), now);
  return {
    data: accounts,
    text: table(
      ['Name', 'Key in', 'State', 'Since'],
      accounts.map(({ name, source, state, createdAt }) => [name, source, state, createdAt]),
    ),
  };
}

async function add(context: Context, given: Given): Promise<Report> {
  const { env } = context;
  const { data: key, error } = newAccountFields.shape.key.safeParse(env.PROVIDER_KEY);
  if (error) throw new OperatorError(`PROVIDER_KEY ${error.issues[0]?.message}.`);
  const account = { ...readInput(named, given), key };
  const box = createSecretBox(readConfig(env).SECRET_KEY);
  if (!(await providerActs.add(context, box, { provider: await providerOf(env), ...account })))
    throw new OperatorError('An account has this name or this key already.');
  return list(context);
}

async function set(context: Context, given: Given): Promise<Report> {
  const input = readInput(stateInput, given);
  const provider = await providerOf(context.env);
  if (!(await providerActs.setState(context, { provider, ...input }))) throw noAccount(input.name);
  return list(context);
}

async function remove(context: Context, given: Given): Promise<Report> {
  const { name } = readInput(named, given);
  const provider = await providerOf(context.env);
  if (!(await providerActs.remove(context, { provider, name })))
    throw new OperatorError(
      `There is no account ${name} that can be removed: pause it first; accounts of KEEPA_API_KEY leave with the setting.`,
    );
  return list(context);
}

async function providerOf(env: NodeJS.ProcessEnv): Promise<string> {
  return (await providersInUse(readConfig(env))).products;
}

const noAccount = (name: string) => new OperatorError(`The account ${name} does not exist.`);
