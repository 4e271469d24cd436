import type { Command } from 'commander';
import { runChecks } from '../checks.ts';
import { type Given, type Report, reporting } from '../terminal.ts';

export function registerDoctor(program: Command): void {
  reporting(
    program
      .command('doctor')
      .description('checks settings, PostgreSQL, migrations, Redis and the data provider'),
    diagnose,
  );
}

async function diagnose(_given: Given, env: NodeJS.ProcessEnv): Promise<Report> {
  const checks = await runChecks(env);
  const failed = checks.some(({ state }) => state === 'failed');
  return {
    data: { ok: !failed, checks },
    text: checks.map(({ name, state, message }) => `${state.padEnd(7)} ${name}: ${message}`).join('\n'),
    failed,
  };
}
