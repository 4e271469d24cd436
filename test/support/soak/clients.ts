import { setTimeout as pause } from 'node:timers/promises';
import type { SoakAccount, SoakKey } from './accounts.ts';
import type { Dice } from './dice.ts';
import type { History } from './history-file.ts';
import type { Exchange } from './judge/history.ts';
import { popularRequest, randomRequest, type SoakRequest } from './requests.ts';
import { send } from './send.ts';

/** How often clients send each kind of request, from 0 to 1. The rest are random calls of random accounts. */
export interface Mix {
  /** Follows up on a job: polls its result, or cancels it. */
  followUp: number;
  /** Repeats one of the client's last calls. */
  repeated: number;
  /** Sends a call that the cache can answer. */
  popular: number;
  /** Of the accounts: one without limits. */
  unlimited: number;
  /** Of the calls: with `Prefer: respond-async`, and with `Prefer: wait=1`. */
  async: number;
  wait: number;
  /** Of the clients: disconnects before the answer. */
  leaves: number;
  /** Of the calls: as a job with a webhook. */
  webhook: number;
  /** Revokes one of the other keys of an account that has some. */
  revokes: number;
}

export const EVEN_MIX: Mix = {
  followUp: 0.1,
  repeated: 0.3,
  popular: 0,
  unlimited: 0,
  async: 0.2,
  wait: 0.1,
  leaves: 0.05,
  webhook: 0.1,
  revokes: 0.01,
};

/** For many calls: the calls that workers run are few. */
export const MOSTLY_CACHED_MIX: Mix = {
  followUp: 0.03,
  repeated: 0.4,
  popular: 0.56,
  unlimited: 0.85,
  async: 0.03,
  wait: 0.02,
  leaves: 0.01,
  webhook: 0.01,
  revokes: 0.0001,
};

/** A job whose result its client may fetch at the end. */
export interface KnownJob extends Known {
  jobId: string;
}

export interface SoakLoad {
  /** The number of requests that were sent to a process. */
  readonly sent: number;
  /** The last jobs that clients were given. */
  readonly jobs: readonly KnownJob[];
  /** Sends no more calls; resolves when all that were sent have been answered. */
  stop(): Promise<void>;
}

interface Known {
  account: SoakAccount;
  request: SoakRequest;
  /** The key of the client. */
  key: SoakKey;
}

/** Pauses after an answer, and after a refusal or a broken connection, which would otherwise be tried thousands of times. */
const PAUSE_MS = 1;
const PAUSE_AFTER_TROUBLE_MS = 100;

/** How many of its last calls a client may repeat, and how many of its jobs it may follow up. */
const REMEMBERED = 20;

/** How many jobs of all clients are known at the end. */
const MOST_JOBS = 3_000;

/** Of the calls of an account with several keys: one of the others. */
const OTHER_KEY = 0.3;

/** Of these: the one with a cap. */
const CAPPED_KEY = 0.5;

/** A client keeps its connection to a gateway, and seldom changes to another. */
const CHANGES_GATEWAY = 0.01;

interface LoadOptions {
  gateways: readonly string[];
  accounts: readonly SoakAccount[];
  count: number;
  mix: Mix;
  dice: Dice;
  history: History;
  /** Address for the messages of an account; absent: no call has a webhook. */
  webhookOf?(accountId: number): string;
}

/** Runs `count` clients that send calls through any gateway, with the key of any account. */
export function startClients(options: LoadOptions): SoakLoad {
  let stopped = false;
  let sent = 0;
  const jobs: KnownJob[] = [];
  const onJob = (job: KnownJob) => {
    jobs.push(job);
    if (jobs.length > MOST_JOBS) jobs.shift();
  };

  async function run(own: Dice): Promise<void> {
    const client = createSoakClient(options, own, onJob);
    while (!stopped) {
      const outcome = await client.next();
      if (outcome !== null) sent += 1;
      const isFine = outcome === 'answered' || outcome === 'accepted';
      await pause(isFine ? PAUSE_MS : PAUSE_AFTER_TROUBLE_MS);
    }
  }

  const running = Promise.all(Array.from({ length: options.count }, () => run(options.dice.fork())));
  return {
    get sent() {
      return sent;
    },
    jobs,
    async stop() {
      stopped = true;
      await running;
    },
  };
}

/** One client. `next` sends a request; it returns null if no process listens at the address. */
function createSoakClient(
  { gateways, accounts, mix, history, webhookOf }: LoadOptions,
  dice: Dice,
  onJob: (job: KnownJob) => void,
) {
  const unlimited = accounts.filter(({ name }) => name.startsWith('unlimited'));
  const managed = accounts.filter(({ manager }) => manager !== null);
  const recent: Known[] = [];
  const jobs: KnownJob[] = [];
  let gateway = dice.pick(gateways);

  async function exchange(
    what: Exchange['what'],
    known: Known,
    path: string,
    options: Parameters<typeof send>[2] & { webhook?: boolean },
  ): Promise<Exchange | null> {
    const { webhook, ...request } = options;
    const seen = await exchangeOf(what, known, `${gateway}${path}`, request);
    if (seen) history.note({ ...seen, ...(webhook ? { webhook } : {}) });
    return seen;
  }

  async function call(): Promise<Exchange['outcome'] | null> {
    const known = choose();
    recent.push(known);
    if (recent.length > REMEMBERED) recent.shift();
    const manner = dice.fraction();
    const prefer = manner < mix.async ? 'respond-async' : manner < mix.async + mix.wait ? 'wait=1' : null;
    const leavesAfterMs = dice.fraction() < mix.leaves ? dice.integer(5, 400) : null;
    const { path, operation, params } = known.request;
    const url = dice.fraction() < mix.webhook ? webhookOf?.(known.account.accountId) : undefined;
    const seen = url
      ? await exchange('call', known, '/api/jobs', {
          ...{ method: 'POST', body: { operation, params, webhook: url }, leavesAfterMs, webhook: true },
        })
      : await exchange('call', known, path, { prefer, leavesAfterMs });
    if (seen?.outcome === 'accepted' && seen.jobId) {
      jobs.push({ ...known, jobId: seen.jobId });
      onJob({ ...known, jobId: seen.jobId });
    }
    if (jobs.length > REMEMBERED) jobs.shift();
    return seen?.outcome ?? null;
  }

  function choose(): Known {
    const choice = dice.fraction();
    if (choice < mix.repeated && recent.length > 0) return dice.pick(recent);
    const account = dice.pick(dice.fraction() < mix.unlimited ? unlimited : accounts);
    const isPopular = choice < mix.repeated + mix.popular;
    const isOther = account.others.length > 0 && dice.fraction() < OTHER_KEY;
    const [capped = account, ...revocable] = account.others;
    const other = dice.fraction() < CAPPED_KEY ? capped : dice.pick(revocable);
    const key = isOther ? other : account;
    return { account, key, request: isPopular ? popularRequest(dice) : randomRequest(dice) };
  }

  async function followUp(): Promise<Exchange['outcome'] | null> {
    const job = dice.pick(jobs);
    const mood = dice.fraction();
    const own = { ...job, key: job.account };
    if (mood < 0.2)
      return (await exchange('cancel', own, `/api/jobs/${job.jobId}`, { method: 'DELETE' }))?.outcome ?? null;
    const wait = mood < 0.5 ? '?wait=2' : '';
    return (await exchange('poll', own, `/api/jobs/${job.jobId}/result${wait}`, {}))?.outcome ?? null;
  }

  /** Revokes any key but the first, which has a cap. */
  async function revoke(): Promise<void> {
    const account = dice.pick(managed);
    const { keyId } = dice.pick(account.others.slice(1));
    const request = { path: '', asked: '', operation: '', params: {} };
    const known = { account, request, key: { keyId, key: account.manager ?? '' } };
    await exchange('revoke', known, `/api/keys/${keyId}`, { method: 'DELETE' });
  }

  return {
    async next(): Promise<Exchange['outcome'] | null> {
      if (dice.fraction() < CHANGES_GATEWAY) gateway = dice.pick(gateways);
      if (managed.length > 0 && dice.fraction() < mix.revokes) await revoke();
      const outcome = jobs.length > 0 && dice.fraction() < mix.followUp ? await followUp() : await call();
      if (outcome === null || outcome === 'unheard') gateway = dice.pick(gateways);
      return outcome;
    },
  };
}

/** Sends a request. @returns null if no process listens at the address. */
export async function exchangeOf(
  what: Exchange['what'],
  { account, key, request }: Known,
  url: string,
  options: Parameters<typeof send>[2],
): Promise<Exchange | null> {
  const sentAt = Date.now();
  const answer = await send(url, key.key, options);
  if (answer === null) return null;
  const about = { account: account.accountId, keyId: key.keyId, asked: request.asked };
  return { kind: 'exchange', what, ...about, sentAt, endedAt: Date.now(), ...answer };
}
