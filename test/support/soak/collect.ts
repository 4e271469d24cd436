import { setTimeout as pause } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { Database } from '../../../src/platform/db/pool.ts';
import type { SoakAccount } from './accounts.ts';
import type { ObservationLog } from './observations.ts';
import { type Heard, send } from './send.ts';

/** The maximum number of jobs to fetch, newest first. More would only take longer. */
const MOST = 3_000;

const PATIENCE_MS = 60_000;

interface Accepted {
  accountId: number;
  jobId: string;
  chargeId: string;
}

/**
 * Fetches the result of jobs that clients were given, as the client would: again and again until it is there.
 * @param log receives a result for each of them.
 */
export async function collectResults(
  database: Database,
  gateways: readonly string[],
  accounts: readonly SoakAccount[],
  log: ObservationLog,
): Promise<void> {
  const { rows } = await database.query<Accepted>(
    `select account_id as "accountId", job_id as "jobId", min(charge_id) as "chargeId" from soak_observations
     where kind = 'call' and outcome = 'accepted' group by 1, 2 order by max(sent_at) desc limit $1`,
    [MOST],
  );
  const owners = new Map(accounts.map((account) => [account.accountId, account]));
  const limit = pLimit(16);
  await Promise.all(
    rows.map((job, i) =>
      limit(async () => {
        const owner = owners.get(job.accountId);
        if (!owner) return;
        const path = `/api/jobs/${job.jobId}/result`;
        const sentAt = Date.now();
        const heard = await collect(`${gateways[i % gateways.length]}${path}?wait=10`, owner);
        log.note({ kind: 'result', path, ...job, sentAt, endedAt: Date.now(), ...heard, jobId: job.jobId });
      }),
    ),
  );
}

async function collect(url: string, owner: SoakAccount): Promise<Heard> {
  const giveUpAt = Date.now() + PATIENCE_MS;
  for (;;) {
    const heard = await send(url, owner);
    const isFinal =
      heard?.outcome === 'answered' || heard?.outcome === 'failed' || heard?.said.startsWith('404');
    if (heard && (isFinal || Date.now() > giveUpAt)) return heard;
    await pause(100);
  }
}
