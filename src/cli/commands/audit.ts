import type { Command } from 'commander';
import { z } from 'zod';
import { AUDIT_ACTIONS, type AuditAction, auditLines, changeText } from '../../operator/audit.ts';
import {
  accountId,
  type Context,
  type Given,
  instant,
  onDatabase,
  type Report,
  readInput,
  table,
  wholeNumber,
} from '../terminal.ts';

const actions = Object.keys(AUDIT_ACTIONS) as [AuditAction, ...AuditAction[]];

const listInput = z.object({
  account: accountId.optional(),
  action: z.enum(actions, `must be one of ${actions.join(', ')}`).optional(),
  operator: z.string().trim().optional(),
  from: instant.optional(),
  to: instant.optional(),
  limit: wholeNumber(1, 10_000),
  before: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
});

export function registerAudit(program: Command): void {
  const audit = program.command('audit').description('shows what operators did');
  onDatabase(
    audit
      .command('list')
      .description('lists the lines of the audit log, newest first')
      .option('--account <ID>', 'only acts on this account')
      .option('--action <A>', 'only this action, such as account.disabled')
      .option('--operator <O>', 'only operators whose name contains this text')
      .option('--from <T>', 'only lines from this time on')
      .option('--to <T>', 'only lines before this time')
      .option('--limit <N>', 'maximum number of lines', '50')
      .option('--before <L>', 'only lines before this line'),
    list,
  );
}

async function list({ database }: Context, given: Given): Promise<Report> {
  const { account, limit, before, ...filter } = readInput(listInput, given);
  const lines = await auditLines(database, { ...filter, accountId: account }, { before, limit });
  return {
    data: lines,
    text: table(
      ['Line', 'Time', 'Operator', 'Action', 'Account', 'Target', 'Change'],
      lines.map(({ id, at, operator, action, accountId: of, target, ...change }) => [
        String(id),
        at,
        operator,
        action,
        of === null ? null : String(of),
        target,
        changeText(change),
      ]),
    ),
  };
}
