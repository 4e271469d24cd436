import { type Notice, queueNotice } from '../mail/queue.ts';
import type { Queryable } from '../platform/db/pool.ts';
import type { Pages } from './pages.ts';

/** Queues a mail about an action on a page, unless this installation has no mails. */
export async function notify(
  { mail, clock }: Pick<Pages, 'mail' | 'clock'>,
  database: Queryable,
  notice: Notice,
): Promise<void> {
  if (mail !== 'none') await queueNotice(database, notice, clock.now());
}
