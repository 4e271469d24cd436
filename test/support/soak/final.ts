import { setTimeout as pause } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { BatchView } from '../../../src/batches/batch.ts';
import { createClient } from '../client.ts';
import type { SoakAccount } from './accounts.ts';
import { exchangeOf, type KnownJob } from './clients.ts';
import type { History } from './history-file.ts';
import type { EndedBatch } from './judge/history.ts';

/** The maximum number of batches of an account whose results are read, the newest first. More would only take longer. */
const MOST_RESULTS = 150;

const PATIENCE_MS = 60_000;

interface Readers {
  gateways: readonly string[];
  accounts: readonly SoakAccount[];
  scheduleIds: ReadonlyMap<number, string[]>;
  jobs: readonly KnownJob[];
  history: History;
}

/** Notes what the public API says at the end of a run: ledger, quota, usage, results of jobs, batches, runs and deliveries. */
export async function readFinalState(about: Readers): Promise<void> {
  const { gateways, accounts, jobs, history } = about;
  const limit = pLimit(8);
  await Promise.all(
    jobs.map((job, i) => limit(() => readResult(gateways[i % gateways.length] ?? '', job, history))),
  );
  await Promise.all(
    accounts.map((account, i) =>
      limit(() => readAccount(gateways[i % gateways.length] ?? '', account, about)),
    ),
  );
  history.note({ kind: 'end', at: Date.now() });
}

/** Fetches the result of a job as its client would: again and again until it is there. */
async function readResult(gateway: string, job: KnownJob, history: History): Promise<void> {
  const giveUpAt = Date.now() + PATIENCE_MS;
  const own = { ...job, key: job.account };
  for (;;) {
    const seen = await exchangeOf('result', own, `${gateway}/api/jobs/${job.jobId}/result?wait=10`, {});
    const isFinal =
      seen?.outcome === 'answered' || seen?.outcome === 'failed' || seen?.said.startsWith('404');
    if (seen && (isFinal || Date.now() > giveUpAt)) return history.note({ ...seen, jobId: job.jobId });
    await pause(100);
  }
}

async function readAccount(gateway: string, account: SoakAccount, about: Readers): Promise<void> {
  const { history } = about;
  const { accountId } = account;
  const of = { account: accountId };
  const client = createClient(gateway, account.key);
  const data = async (path: string) => (await client.get(path)).json.data;
  for await (const page of pagesOf(client, '/api/ledger?limit=1000'))
    history.note({ kind: 'ledger', ...of, lines: page.ledger as never });
  for (const { key } of [account, ...account.others.slice(0, 1)]) {
    const { json } = await createClient(gateway, key).get('/api/quota');
    history.note({ kind: 'quota', ...of, quota: json.data });
  }
  history.note({ kind: 'usage', ...of, rows: (await data('/api/usage')).usage });
  for await (const page of pagesOf(client, '/api/webhooks/deliveries?limit=100'))
    for (const { deliveryId: id, type, state } of page.deliveries as {
      deliveryId: string;
      type: string;
      state: string;
    }[])
      history.note({ kind: 'delivery', ...of, id, type, state });
  let unread = MOST_RESULTS;
  for await (const page of pagesOf(client, '/api/batches?limit=100'))
    for (const batch of page.batches as BatchView[]) {
      unread -= 1;
      const results = unread < 0 ? null : await readResults(client, batch.batchId);
      history.note({ kind: 'batch end', ...of, ...endOf(batch), results });
    }
  for (const scheduleId of about.scheduleIds.get(accountId) ?? [])
    for await (const page of pagesOf(client, `/api/schedules/${scheduleId}/runs?limit=100`))
      for (const { runId, dueAt, trigger, state, batchId } of page.runs as Record<string, string>[])
        history.note({
          ...{ kind: 'run', ...of, scheduleId, runId: runId ?? '', dueAt: Date.parse(dueAt ?? '') },
          ...{ trigger: trigger ?? '', state: state ?? '', batchId: batchId ?? null },
        });
}

async function* pagesOf(client: ReturnType<typeof createClient>, path: string) {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const reply = await client.get(cursor === '' ? path : `${path}&cursor=${cursor}`);
    if (reply.status !== 200) throw new Error(`${path} was answered with ${reply.status}: ${reply.text}`);
    yield reply.json.data as Record<string, unknown>;
    cursor = reply.json.data.nextCursor;
  }
}

function endOf(batch: BatchView): Omit<EndedBatch, 'kind' | 'account' | 'results'> {
  const { batchId, scheduleId, state, finishedAt, webhook, units, counts } = batch;
  const { items, done, failed, cancelled, unchanged } = counts;
  const charged = units.charged;
  return {
    ...{ batchId, scheduleId, state, finishedAt, hasWebhook: webhook !== null, units: charged },
    counts: { items, done, failed, cancelled, unchanged },
  };
}

interface Line {
  index: number;
  params: { asin?: string; asins?: string[] | string };
  code: string;
  data?: { products?: { asin: string }[] };
}

async function readResults(client: ReturnType<typeof createClient>, batchId: string) {
  const { text } = await client.get(`/api/batches/${batchId}/results`);
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line): [number, string, string, string | null] => {
    const { index, params, code, data } = JSON.parse(line) as Line;
    return [index, params.asin ?? String(params.asins), code, data?.products?.[0]?.asin ?? null];
  });
}
