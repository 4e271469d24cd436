import type { ClientBase } from 'pg';
import { addressFor } from '../../accounts/account-address.ts';
import { isTestAccount, liveAccountOf } from '../../accounts/authentication.ts';
import { queuedOperation } from '../../operations/index.ts';
import { parseStored } from '../../operations/params/answer-form.ts';
import { chooseTable } from '../../operations/tables/tables.ts';
import type { ResultFacts } from '../../outbox/mail/kinds/notice-mails.ts';
import { queueMail } from '../../outbox/mail/mails.ts';
import type { Queryable } from '../../platform/db/pool.ts';
import { parseJson } from '../../platform/json.ts';
import { type Batch, batchFileName, batchView } from '../batch.ts';
import { sampleInput } from '../results.ts';

/** Queues the mail about the end of a run, if its schedule mails results. The link is created when the mail is sent. */
export async function mailResults(client: ClientBase, batch: Batch, now: number): Promise<void> {
  const { batchId, scheduleId, accountId, operation, onlyChanges, items, finishedAt } = batch;
  const { resultsUntil: until } = batchView(batch);
  if (scheduleId === null || finishedAt === null || until === null) return;
  const { rows } = await client.query<{ name: string }>(
    'select name from schedules where id = $1 and mail_results',
    [scheduleId],
  );
  const [schedule] = rows;
  if (!schedule) return;
  const { done, failed, cancelled, unchanged } = items;
  const format = (await hasTable(client, batch)) ? 'csv' : 'ndjson';
  const facts: ResultFacts = {
    batchId,
    accountId,
    operation,
    format,
    fileName: batchFileName(batch, { format }),
    page: addressFor(accountId, `/account/batches/${batchId}`),
    name: isTestAccount(accountId) ? `${schedule.name} (test data)` : schedule.name,
    counts: {
      done,
      failed,
      cancelled,
      changes: onlyChanges ? { changed: done - unchanged, unchanged } : null,
    },
    finishedAt,
    until,
  };
  // A test account has no members of its own.
  await queueMail(client, { accountId: liveAccountOf(accountId), kind: 'schedule_results', facts }, now);
}

/** Whether the results form a table. */
async function hasTable(database: Queryable, { operation: name, batchId }: Batch): Promise<boolean> {
  const operation = queuedOperation(name);
  if (!operation) return false;
  const input = parseJson(await sampleInput(database, batchId));
  return 'name' in chooseTable(operation, parseStored(operation, input), undefined, 'json');
}
