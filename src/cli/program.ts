import type { Command } from 'commander';
import { registerAba } from './commands/aba.ts';
import { registerAccount } from './commands/account.ts';
import { registerAnnounce } from './commands/announce.ts';
import { registerAudit } from './commands/audit.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerGrant } from './commands/grant.ts';
import { registerKey } from './commands/key.ts';
import { registerMcp } from './commands/mcp.ts';
import { registerOperatorCommands } from './commands/operator.ts';
import { registerPlan } from './commands/plan.ts';
import { registerStatement } from './commands/statement.ts';

/** Adds every command to the operator's program. */
export function registerCommands(program: Command): void {
  program
    .description('Manages a Souk installation: accounts, keys, units, reports.')
    .showHelpAfterError('(run with --help for usage)');
  registerAccount(program);
  registerKey(program);
  registerPlan(program);
  registerGrant(program);
  registerStatement(program);
  registerAba(program);
  registerAnnounce(program);
  registerAudit(program);
  registerOperatorCommands(program);
  registerDoctor(program);
  registerMcp(program);
}
