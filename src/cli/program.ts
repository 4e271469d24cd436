import { Command } from 'commander';
import { registerAba } from './commands/aba.ts';
import { registerAccount } from './commands/account.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerGrant } from './commands/grant.ts';
import { registerKey } from './commands/key.ts';
import { registerMcp } from './commands/mcp.ts';
import { registerPlan } from './commands/plan.ts';
import { registerStatement } from './commands/statement.ts';

/** The operator's command with all its subcommands. */
export function buildProgram(): Command {
  const program = new Command('souk')
    .description('The operator of Souk: accounts, keys, units, reports.')
    .showHelpAfterError('(add --help for what there is)')
    // Ends by exception, so that the caller decides on the exit code. Subcommands inherit both.
    .exitOverride();
  registerAccount(program);
  registerKey(program);
  registerPlan(program);
  registerGrant(program);
  registerStatement(program);
  registerAba(program);
  registerDoctor(program);
  registerMcp(program);
  return program;
}
