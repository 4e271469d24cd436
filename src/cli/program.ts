import { type Command, CommanderError } from 'commander';
import { maskSecrets } from '../platform/log.ts';
import { abaCommands } from './commands/aba.ts';
import { accountCommands } from './commands/account.ts';
import { doctorCommand } from './commands/doctor.ts';
import { activityCommand, ledgerCommand, marginCommand, usageCommand } from './commands/figures.ts';
import { keyCommands } from './commands/key.ts';
import { mcpCommand } from './commands/mcp.ts';
import { alertsCommand, announceCommand, announcementCommands, auditCommands } from './commands/operating.ts';
import { memberCommands, personCommands } from './commands/person.ts';
import { providerAccountCommands } from './commands/provider-accounts.ts';
import { admitCommand, backupCommand, restoreCommand, verifyCommand } from './commands/recovery.ts';
import { couponCommands, discountCommands, grantCommands, planCommands } from './commands/sales.ts';
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

const COMMANDS = [
  ...[accountCommands, personCommands, memberCommands, keyCommands],
  ...[planCommands, couponCommands, discountCommands, grantCommands],
  ...[usageCommand, ledgerCommand, activityCommand, marginCommand],
  ...[providerAccountCommands, abaCommands],
  ...[alertsCommand, announceCommand, announcementCommands, auditCommands],
  ...[backupCommand, restoreCommand, verifyCommand, admitCommand, doctorCommand, mcpCommand],
];

/** Adds every command to the operator's program. */
export function registerCommands(program: Command): void {
  program
    .description('Manages a Souk installation: accounts, keys, units, reports.')
    .showHelpAfterError('(run with --help for usage)');
  for (const add of COMMANDS) add(program);
}
