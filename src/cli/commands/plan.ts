import type { Command } from 'commander';
import { listPlans } from '../../billing/grants.ts';
import { ensureStandardPlans } from '../../billing/standard-plans.ts';
import { readConfig } from '../../config/config.ts';
import { type Context, onDatabase, type Report, table } from '../terminal.ts';

export function registerPlan(program: Command): void {
  const plan = program.command('plan').description('manages plans');
  onDatabase(plan.command('list').description('lists all plans with their limits and prices'), list);
}

async function list({ database, env }: Context): Promise<Report> {
  await ensureStandardPlans(database);
  const plans = await listPlans(database);
  const currency = readConfig(env).PAYMENT_CURRENCY.toUpperCase();
  const price = new Intl.NumberFormat('en', { style: 'currency', currency });
  const rows = plans.map(({ code, name, minuteLimit, dailyLimit, monthlyLimit, priceCents, renews }) => [
    code,
    name,
    minuteLimit,
    dailyLimit,
    monthlyLimit,
    priceCents === null ? 'not for sale' : price.format(priceCents / 100),
    renews ? 'each month' : null,
  ]);
  const columns = [
    'Code',
    'Name',
    'Calls per minute',
    'Units per day',
    'Units per month',
    'Price per month',
    'Renews',
  ];
  return { data: plans, text: `${table(columns, rows)}\n- means unlimited, and a plan that does not renew.` };
}
