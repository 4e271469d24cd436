import { z } from 'zod';
import type { Config } from '../../config/config.ts';
import {
  accountNameField,
  accountStateField,
  newAccountFields,
  providerActs,
} from '../../operator/acts/provider-acts.ts';
import { createSecretBox } from '../../platform/secret-box.ts';
import { listAccounts } from '../../upstream/stored-accounts.ts';
import { type Context, command, group, OperatorError, providersInUse, reportOf } from '../terminal.ts';

const named = z.object({ name: accountNameField });

const BY_NAME = { '<NAME>': 'name of the account' };

const show = reportOf<Awaited<ReturnType<typeof listAccounts>>[number]>([
  ['Name', ({ name }) => name],
  ['Key in', ({ source }) => source],
  ['State', ({ state }) => state],
  ['Since', ({ createdAt }) => createdAt],
]);

async function list({ database, config, now }: Context) {
  return show(await listAccounts(database, await providerOf(config), now));
}

const add = command({
  name: 'add',
  description: 'adds an account, whose key is in the environment variable PROVIDER_KEY',
  arguments: { '<NAME>': 'lower-case letters, digits and hyphens' },
  input: named,
  async run(context, { name }) {
    const { env, config } = context;
    const { data: key, error } = newAccountFields.shape.key.safeParse(env.PROVIDER_KEY);
    if (error) throw new OperatorError(`PROVIDER_KEY ${error.issues[0]?.message}.`);
    const account = { provider: await providerOf(config), name, key };
    if (!(await providerActs.add(context, createSecretBox(config.SECRET_KEY), account)))
      throw new OperatorError('An account has this name or this key already.');
    return list(context);
  },
});

const set = command({
  name: 'set',
  description: 'makes an account active, draining or paused',
  arguments: { ...BY_NAME, '<STATE>': 'active, draining or paused' },
  input: named.extend({ state: accountStateField }),
  async run(context, { name, state }) {
    const provider = await providerOf(context.config);
    if (!(await providerActs.setState(context, { provider, name, state })))
      throw new OperatorError(`The account ${name} does not exist.`);
    return list(context);
  },
});

const remove = command({
  name: 'remove',
  description: 'removes an account that is not active, with its key',
  arguments: BY_NAME,
  input: named,
  async run(context, { name }) {
    const provider = await providerOf(context.config);
    if (!(await providerActs.remove(context, { provider, name })))
      throw new OperatorError(
        `There is no account ${name} that can be removed: pause it first; accounts of KEEPA_API_KEY leave with the setting.`,
      );
    return list(context);
  },
});

async function providerOf(config: Config): Promise<string> {
  return (await providersInUse(config)).products;
}

export const providerAccountCommands = group(
  'provider-accounts',
  'manages the accounts at the provider of product data',
  [
    command({ name: 'list', description: 'lists the accounts with their states', run: list }),
    add,
    set,
    remove,
  ],
);
