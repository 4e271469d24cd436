import type { Command } from 'commander';
import { z } from 'zod';
import {
  auditNow,
  concludeAudit,
  noteServer,
  openAdmission,
  readAdmissionState,
} from '../../billing/admission-state.ts';
import { BOOKS } from '../../billing/books.ts';
import { readConfig } from '../../config/config.ts';
import { text } from '../../operations/params/scalars.ts';
import { writeLine } from '../../operator/audit.ts';
import { backUp } from '../../operator/backup/backup.ts';
import { restore } from '../../operator/backup/restore.ts';
import {
  type Context,
  databaseUrlOf,
  type Given,
  moment,
  OperatorError,
  onDatabase,
  type Report,
  readInput,
  reporting,
  userOfCommand,
  withDatabase,
} from '../terminal.ts';

export function registerRecovery(program: Command): void {
  onDatabase(
    program
      .command('backup')
      .description('backs up PostgreSQL with pg_dump, encrypted if SECRET_KEY is set')
      .requiredOption('--to <PATH>', 'new file, or a folder'),
    makeBackup,
  );
  reporting(
    program
      .command('restore')
      .description('restores a backup; calls are admitted after `verify`')
      .requiredOption('--from <FILE>', 'file of `backup`')
      .option('--replace', 'deletes what the database contains'),
    restoreBackup,
  );
  onDatabase(
    program
      .command('verify')
      .description('audits the books, and admits calls after a recovery if they are right'),
    verify,
  );
  onDatabase(
    program
      .command('admit')
      .description('admits calls after a recovery without an audit')
      .option('--note <T>', 'text for the status page, at most 500 characters'),
    admit,
  );
}

const backupInput = z.object({ to: z.string().min(1, 'must be a file or folder') });

async function makeBackup({ database, env, operator }: Context, given: Given): Promise<Report> {
  const config = readConfig(env);
  const [key = null] = config.SECRET_KEY ?? [];
  const made = await backUp(database, {
    databaseUrl: await databaseUrlOf(config),
    ...readInput(backupInput, given),
    key,
  });
  const { file, bytes, isEncrypted, begunAt } = made;
  await writeLine(database, operator, {
    action: 'backup',
    target: file,
    after: { bytes, isEncrypted, begunAt },
  });
  const warning = isEncrypted ? '' : '\nIt is not encrypted, because SECRET_KEY is not set.';
  return {
    data: made,
    text: `Wrote ${file}: ${bytes.toLocaleString('en-US')} bytes, with everything before ${moment(begunAt)}.${warning}`,
  };
}

const restoreInput = z.object({
  from: z.string().min(1, 'must be a file'),
  replace: z.boolean().default(false),
});

const NEXT_STEPS = `Next:
  npm run migrate
  empty Redis, whose jobs and answers may belong to calls that this database does not have
  start gateways and workers: pages work, and calls get 503 RECOVERING
  npm run souk -- verify`;

async function restoreBackup(given: Given, env: NodeJS.ProcessEnv): Promise<Report> {
  const { from: file, replace } = readInput(restoreInput, given);
  const config = readConfig(env);
  await restore({ databaseUrl: await databaseUrlOf(config), file, replace, keys: config.SECRET_KEY ?? [] });
  const { recordedUntil } = await withDatabase(config, async (database) => {
    await writeLine(database, userOfCommand(), { action: 'restore', target: file });
    return readAdmissionState(database);
  });
  const until = new Date(recordedUntil ?? 0);
  return {
    data: { file, recordedUntil: until },
    text: `Restored ${file}, with everything before ${moment(until)}.\n${NEXT_STEPS}`,
  };
}

async function verify({ database, operator }: Context): Promise<Report> {
  const state = await noteServer(database);
  const { closedAt, recordedUntil } = state;
  const audit = await auditNow(database);
  const { faults, openCalls } = audit;
  const isOpened = await concludeAudit(database, state, audit);
  if (isOpened)
    await writeLine(database, operator, { action: 'admission.opened', after: { verified: true } });
  const checks = Object.keys(BOOKS).map((promise) => ({
    promise,
    faults: faults.filter((fault) => fault.promise === promise).map(({ row }) => row),
  }));
  const isRight = faults.length === 0;
  const admission = isOpened ? 'opened' : closedAt === null ? 'open' : 'closed';
  const lines = [
    ...checks.map(({ promise, faults: rows }) => `${rows.length === 0 ? 'ok' : 'failed'}\t${promise}`),
    ...faults.map(({ promise, row }) => `${promise}: ${JSON.stringify(row)}`),
    `${openCalls} calls are open.`,
    ADMISSION[admission],
  ];
  return {
    data: {
      ok: isRight,
      checks,
      openCalls,
      admission,
      closedAt: closedAt === null ? null : new Date(closedAt),
      recordedUntil: recordedUntil === null ? null : new Date(recordedUntil),
    },
    text: lines.join('\n'),
    failed: !isRight,
  };
}

const ADMISSION = {
  open: 'Calls are admitted.',
  opened: 'The books are right. Calls are admitted again.',
  closed: 'No call is admitted: correct the books, or run `npm run souk -- admit`.',
};

const admitInput = z.object({ note: text({ maxLength: 500 }).optional() });

async function admit({ database, operator }: Context, given: Given): Promise<Report> {
  const { note = 'Calls are accepted again.' } = readInput(admitInput, given);
  if (!(await openAdmission(database, await noteServer(database), note)))
    throw new OperatorError('Calls are admitted already.');
  await writeLine(database, operator, { action: 'admission.opened', after: { verified: false } });
  return { data: { admission: 'opened' }, text: 'Calls are admitted again.' };
}
