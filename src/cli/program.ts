import { type Command, CommanderError } from 'commander';
import { maskSecrets } from '../platform/log.ts';
import { registerAba } from './commands/aba.ts';
import { registerAccount } from './commands/account.ts';
import { registerActivity } from './commands/activity.ts';
import { registerAlerts } from './commands/alerts.ts';
import { registerAnnounce } from './commands/announce.ts';
import { registerAudit } from './commands/audit.ts';
import { registerCoupon } from './commands/coupon.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerGrant } from './commands/grant.ts';
import { registerKey } from './commands/key.ts';
import { registerMargin } from './commands/margin.ts';
import { registerMcp } from './commands/mcp.ts';
import { registerMember, registerPerson } from './commands/person.ts';
import { registerPlan } from './commands/plan.ts';
import { registerProviderAccounts } from './commands/provider-accounts.ts';
import { registerRecovery } from './commands/recovery.ts';
import { registerStatement } from './commands/statement.ts';
import { SoukProgram, type Terminal } from './terminal.ts';

/** The command failed; standard error says why. */
const FAILED = 1;
/** The command line was not valid. */
const USAGE_ERROR = 2;

/** Runs the operator's command. @param words the command line without the program. @returns the exit code: 0, 1 or 2. */
export async function runCommand(words: readonly string[], terminal: Terminal): Promise<number> {
  const program = new SoukProgram(terminal);
  registerCommands(program);
  try {
    await program.parseAsync(words, { from: 'user' });
    return program.failed ? FAILED : 0;
  } catch (error) {
    // Commander has already printed its message or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
    terminal.writeError(`${maskSecrets(error instanceof Error ? error.message : String(error))}\n`);
    return FAILED;
  }
}

/** Adds every command to the operator's program. */
export function registerCommands(program: Command): void {
  program
    .description('Manages a Souk installation: accounts, keys, units, reports.')
    .showHelpAfterError('(run with --help for usage)');
  registerAccount(program);
  registerPerson(program);
  registerMember(program);
  registerKey(program);
  registerPlan(program);
  registerCoupon(program);
  registerGrant(program);
  registerStatement(program);
  registerActivity(program);
  registerMargin(program);
  registerProviderAccounts(program);
  registerAba(program);
  registerAlerts(program);
  registerAnnounce(program);
  registerAudit(program);
  registerRecovery(program);
  registerDoctor(program);
  registerMcp(program);
}
