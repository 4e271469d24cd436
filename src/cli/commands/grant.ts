import type { Command } from 'commander';
import { z } from 'zod';
import { ensureStandardPlans } from '../../accounts/standard-plans.ts';
import { findPlan, grantPack, grantSubscription, listPlans } from '../../billing/grants.ts';
import { monthsAfter } from '../../calendar.ts';
import type { Database } from '../../db/pool.ts';
import { accountId, instant, readInput, wallet, wholeNumber } from '../input.ts';
import { knownAccount } from '../operator-database.ts';
import { OperatorError } from '../operator-error.ts';
import { type Report, table } from '../report.ts';
import { type Context, type Given, onDatabase } from '../reporting.ts';

const DAY_MS = 86_400_000;

const subscriptionInput = z.object({
  account: accountId,
  plan: z.string(),
  quantity: wholeNumber(1, 1_000),
  wallet,
  months: wholeNumber(1, 120),
  starts: instant.optional(),
});

const packInput = z.object({
  account: accountId,
  units: wholeNumber(1, 1_000_000_000_000),
  wallet,
  rate: wholeNumber(1, 1_000_000),
  validDays: wholeNumber(1, 3_650),
});

export function registerGrant(program: Command): void {
  const grant = program.command('grant').description('give units to an account');
  const command = (name: string, description: string) =>
    grant
      .command(name)
      .description(description)
      .requiredOption('--account <ID>', 'number of the account')
      .option('--wallet <W>', 'general, or off_peak: for the off-peak window only', 'general');
  onDatabase(
    command('subscription', 'a plan for some months')
      .requiredOption('--plan <P>', 'code of the plan')
      .option('--quantity <N>', 'multiplies the limits of the plan', '1')
      .option('--months <N>', 'how long', '1')
      .option('--starts <T>', 'when it begins, such as the end of the present one (default: now)'),
    subscription,
  );
  onDatabase(
    command('pack', 'units to use up')
      .requiredOption('--units <N>', 'how many')
      .option('--rate <N>', 'calls a minute', '60')
      .option('--valid-days <N>', 'how long', '365'),
    pack,
  );
}

async function subscription({ database, now }: Context, given: Given): Promise<Report> {
  const input = readInput(subscriptionInput, given);
  await knownAccount(database, input.account);
  const plan = await knownPlan(database, input.plan);
  const startsAt = input.starts ?? new Date(now);
  const endsAt = monthsAfter(startsAt, input.months);
  const grant = {
    accountId: input.account,
    wallet: input.wallet,
    quantity: input.quantity,
    startsAt,
    endsAt,
  };
  const id = await grantSubscription(database, { ...grant, planId: plan.id });
  return {
    data: { id, ...grant, plan: plan.code },
    text: table(
      ['Subscription', 'Account', 'Plan', 'Quantity', 'Wallet', 'From', 'Until'],
      [[String(id), String(input.account), plan.code, input.quantity, input.wallet, startsAt, endsAt]],
    ),
  };
}

async function pack({ database, now }: Context, given: Given): Promise<Report> {
  const input = readInput(packInput, given);
  await knownAccount(database, input.account);
  const grant = {
    accountId: input.account,
    wallet: input.wallet,
    units: input.units,
    rateLimitPerMinute: input.rate,
    validFrom: new Date(now),
    validUntil: new Date(now + input.validDays * DAY_MS),
  };
  const id = await grantPack(database, grant, now);
  return {
    data: { id, ...grant },
    text: table(
      ['Pack', 'Account', 'Units', 'Wallet', 'Calls a minute', 'Until'],
      [[String(id), String(input.account), input.units, input.wallet, input.rate, grant.validUntil]],
    ),
  };
}

async function knownPlan(database: Database, code: string) {
  await ensureStandardPlans(database);
  const plan = await findPlan(database, code);
  if (plan) return plan;
  const codes = (await listPlans(database)).map((known) => known.code);
  throw new OperatorError(`There is no plan ${JSON.stringify(code)}; there are ${codes.join(', ')}.`);
}
