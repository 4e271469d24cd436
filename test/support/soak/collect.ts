import pLimit from 'p-limit';
import { createClient } from '../client.ts';
import type { SoakAccount } from './accounts.ts';
import { heard, type Observation } from './clients.ts';

/** The maximum number of jobs to fetch, newest first. More would only take longer. */
const MOST = 3_000;

const PATIENCE_MS = 30_000;

/**
 * Fetches the result of every job that a client was given for a call of its own, as the client would: again and again
 * until it is there.
 */
export async function collectResults(
  gateways: readonly string[],
  accounts: readonly SoakAccount[],
  observations: readonly Observation[],
): Promise<Observation[]> {
  const keys = new Map(accounts.map(({ accountId, key }) => [accountId, key]));
  const accepted = new Map(observations.filter(({ said }) => said === '202').map((one) => [one.jobId, one]));
  const limit = pLimit(16);
  const chosen = [...accepted.values()].slice(-MOST);
  return Promise.all(
    chosen.map((one, i) =>
      limit(() =>
        collect(one, createClient(gateways[i % gateways.length] ?? '', keys.get(one.accountId) ?? '')),
      ),
    ),
  );
}

async function collect(job: Observation, client: ReturnType<typeof createClient>): Promise<Observation> {
  const giveUpAt = Date.now() + PATIENCE_MS;
  for (;;) {
    const reply = await client.get(`/api/jobs/${job.jobId}/result?wait=10`);
    // Fetching a result costs nothing; a second header has what its call cost.
    const result = { ...heard(reply), units: Number(reply.headers['x-units-charged'] ?? 0) };
    if (result.outcome !== 'accepted' || Date.now() > giveUpAt)
      return { ...job, ...result, jobId: job.jobId };
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
