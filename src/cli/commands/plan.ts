import type { Command } from 'commander';
import { listPlans } from '../../billing/grants.ts';
import { ensureStandardPlans } from '../../billing/standard-plans.ts';
import { type Report, table } from '../report.ts';
import { type Context, onDatabase } from '../reporting.ts';

export function registerPlan(program: Command): void {
  const plan = program.command('plan').description('manages plans');
  onDatabase(plan.command('list').description('lists all plans with their limits'), list);
}

async function list({ database }: Context): Promise<Report> {
  await ensureStandardPlans(database);
  const plans = await listPlans(database);
  const rows = plans.map(({ code, name, minuteLimit, dailyLimit, monthlyLimit }) => [
    ...[code, name],
    ...[minuteLimit, dailyLimit, monthlyLimit],
  ]);
  const columns = ['Code', 'Name', 'Calls per minute', 'Units per day', 'Units per month'];
  return { data: plans, text: `${table(columns, rows)}\n- means unlimited.` };
}
