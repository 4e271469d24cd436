import type { Command } from 'commander';
import { z } from 'zod';
import { findPlan, listPlans } from '../../billing/grants.ts';
import { ensureStandardPlans } from '../../billing/standard-plans.ts';
import { windowText } from '../../billing/wallets.ts';
import { grantActs, packFields, subscriptionFields } from '../../operator/acts/sale-acts.ts';
import type { Database } from '../../platform/db/pool.ts';
import {
  accountId,
  type Context,
  type Given,
  knownAccount,
  OperatorError,
  onDatabase,
  type Report,
  readInput,
  table,
} from '../terminal.ts';

const subscriptionInput = subscriptionFields.extend({ account: accountId });

const packInput = z.intersection(packFields, z.object({ account: accountId }));

export function registerGrant(program: Command): void {
  const grant = program.command('grant').description('grants units to an account');
  const command = (name: string, description: string) =>
    grant
      .command(name)
      .description(description)
      .requiredOption('--account <ID>', 'number of the account')
      .option('--wallet <W>', 'general, or off_peak: for the off-peak window only', 'general');
  onDatabase(
    command('subscription', 'grants a plan for a number of months')
      .requiredOption('--plan <P>', 'code of the plan')
      .option('--quantity <N>', 'multiplies the limits of the plan', '1')
      .option('--months <N>', 'duration in months', '1')
      .option('--starts <T>', 'start, such as the end of the current subscription (default: now)'),
    subscription,
  );
  onDatabase(
    command('pack', 'grants a pack of units')
      .requiredOption('--units <N>', 'number of units')
      .option('--rate <N>', 'calls per minute', '60')
      .option('--valid-days <N>', 'validity in days', '365')
      .option('--window <W>', 'own window of an off-peak pack, such as "22:00-06:00 Europe/Berlin"'),
    pack,
  );
}

async function subscription(context: Context, given: Given): Promise<Report> {
  const { database } = context;
  const input = readInput(subscriptionInput, given);
  await knownAccount(database, input.account);
  const plan = await knownPlan(database, input.plan);
  const {
    planId: _,
    id,
    ...grant
  } = await grantActs.plan(context, { accountId: input.account, plan }, input);
  return {
    data: { id, ...grant, plan: plan.code },
    text: table(
      ['Subscription', 'Account', 'Plan', 'Quantity', 'Wallet', 'From', 'Until'],
      [
        [
          String(id),
          String(input.account),
          plan.code,
          input.quantity,
          input.wallet,
          grant.startsAt,
          grant.endsAt,
        ],
      ],
    ),
  };
}

async function pack(context: Context, given: Given): Promise<Report> {
  const input = readInput(packInput, given);
  await knownAccount(context.database, input.account);
  const { id, ...grant } = await grantActs.pack(context, input.account, input);
  return {
    data: { id, ...grant },
    text: table(
      ['Pack', 'Account', 'Units', 'Wallet', 'Window', 'Calls per minute', 'Until'],
      [
        [
          String(id),
          String(input.account),
          input.units,
          input.wallet,
          input.window && windowText(input.window),
          input.rate,
          grant.validUntil,
        ],
      ],
    ),
  };
}

async function knownPlan(database: Database, code: string) {
  await ensureStandardPlans(database);
  const plan = await findPlan(database, code);
  if (plan) return plan;
  const codes = (await listPlans(database)).map((known) => known.code);
  throw new OperatorError(`The plan ${JSON.stringify(code)} does not exist. Use one of ${codes.join(', ')}.`);
}
