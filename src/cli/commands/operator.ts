import type { Command } from 'commander';
import { twoFactorActs } from '../../operator/acts/account-acts.ts';
import { type Context, onDatabase, type Report } from '../terminal.ts';

export function registerOperatorCommands(program: Command): void {
  const operator = program.command('operator').description('manages the sign-in to the operator console');
  onDatabase(
    operator
      .command('reset2fa')
      .description(
        'turns two-factor sign-in to the console off, for an operator who has lost the app and the recovery codes',
      ),
    resetTwoFactor,
  );
}

async function resetTwoFactor(context: Context): Promise<Report> {
  const wasOn = await twoFactorActs.reset(context);
  const text = wasOn ? 'Two-factor sign-in is off.' : 'Two-factor sign-in was not on.';
  return { data: { wasOn }, text };
}
