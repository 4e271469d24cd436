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
  command,
  databaseUrlOf,
  moment,
  OperatorError,
  reporting,
  userOfCommand,
  withDatabase,
} from '../terminal.ts';

export const backupCommand = command({
  name: 'backup',
  description: 'backs up PostgreSQL with pg_dump, encrypted if SECRET_KEY is set',
  required: { '--to <PATH>': 'new file, or a folder' },
  input: z.object({ to: z.string().min(1, 'must be a file or folder') }),
  async run({ database, config, operator }, { to }) {
    const [key = null] = config.SECRET_KEY ?? [];
    const made = await backUp(database, { databaseUrl: await databaseUrlOf(config), to, key });
    const { file, bytes, isEncrypted, begunAt } = made;
    const after = { bytes, isEncrypted, begunAt };
    await writeLine(database, operator, { action: 'backup', target: file, after });
    const warning = isEncrypted ? '' : '\nIt is not encrypted, because SECRET_KEY is not set.';
    return {
      data: made,
      text: `Wrote ${file}: ${bytes.toLocaleString('en-US')} bytes, with everything before ${moment(begunAt)}.${warning}`,
    };
  },
});

const restoreInput = z.object({
  from: z.string().min(1, 'must be a file'),
  replace: z.boolean().default(false),
});

const NEXT_STEPS = `Next:
  npm run migrate
  empty Redis, whose jobs and answers may belong to calls that this database does not have
  start gateways and workers: pages work, and calls get 503 RECOVERING
  npm run souk -- verify`;

export const restoreCommand = reporting(
  {
    name: 'restore',
    description: 'restores a backup; calls are admitted after `verify`',
    required: { '--from <FILE>': 'file of `backup`' },
    options: { '--replace': 'deletes what the database contains' },
  },
  async (read, env) => {
    const { from: file, replace } = read(restoreInput);
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
  },
);

const ADMISSION = {
  open: 'Calls are admitted.',
  opened: 'The books are right. Calls are admitted again.',
  closed: 'No call is admitted: correct the books, or run `npm run souk -- admit`.',
};

export const verifyCommand = command({
  name: 'verify',
  description: 'audits the books, and admits calls after a recovery if they are right',
  async run({ database, operator }) {
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
  },
});

export const admitCommand = command({
  name: 'admit',
  description: 'admits calls after a recovery without an audit',
  options: { '--note <T>': 'text for the status page, at most 500 characters' },
  input: z.object({ note: text({ maxLength: 500 }).default('Calls are accepted again.') }),
  async run({ database, operator }, { note }) {
    if (!(await openAdmission(database, await noteServer(database), note)))
      throw new OperatorError('Calls are admitted already.');
    await writeLine(database, operator, { action: 'admission.opened', after: { verified: false } });
    return { data: { admission: 'opened' }, text: 'Calls are admitted again.' };
  },
});
