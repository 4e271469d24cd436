import type { Command } from 'commander';
import { listPlans } from '../../billing/grants.ts';
import { ensureStandardPlans } from '../../billing/standard-plans.ts';
import { type Report, table } from '../report.ts';
import { type Context, onDatabase } from '../reporting.ts';

export function registerPlan(program: Command): void {
  const plan = program.command('plan').description('what subscriptions there are');
  onDatabase(plan.command('list').description('all plans and their limits'), list);
}

async function list({ database }: Context): Promise<Report> {
  await ensureStandardPlans(database);
  const plans = await listPlans(database);
  const rows = plans.map(({ code, name, minuteLimit, dailyLimit, monthlyLimit }) => [
    ...[code, name],
    ...[minuteLimit, dailyLimit, monthlyLimit],
  ]);
  const columns = ['Code', 'Name', 'Calls a minute', 'Units a day', 'Units a month'];
  return { data: plans, text: `${table(columns, rows)}\nA dash: not limited.` };
}
