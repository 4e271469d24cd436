import { setTimeout as pause } from 'node:timers/promises';
import type { SoakAccount } from './accounts.ts';
import type { Dice } from './dice.ts';
import type { Observation, ObservationLog } from './observations.ts';
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
}

export const EVEN_MIX: Mix = {
  followUp: 0.1,
  repeated: 0.3,
  popular: 0,
  unlimited: 0,
  async: 0.2,
  wait: 0.1,
  leaves: 0.05,
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
};

export interface SoakLoad {
  /** The number of requests that were sent to a process. */
  readonly sent: number;
  /** Sends no more calls; resolves when all that were sent have been answered. */
  stop(): Promise<void>;
}

interface Known {
  account: SoakAccount;
  request: SoakRequest;
}

/** Pauses after an answer, and after a refusal or a broken connection, which would otherwise be tried thousands of times. */
const PAUSE_MS = 1;
const PAUSE_AFTER_TROUBLE_MS = 100;

/** How many of its last calls a client may repeat, and how many of its jobs it may follow up. */
const REMEMBERED = 20;

/** A client keeps its connection to a gateway, and seldom changes to another. */
const CHANGES_GATEWAY = 0.01;

interface LoadOptions {
  gateways: readonly string[];
  accounts: readonly SoakAccount[];
  count: number;
  mix: Mix;
  dice: Dice;
  log: ObservationLog;
}

/** Runs `count` clients that send calls through any gateway, with the key of any account. */
export function startClients(options: LoadOptions): SoakLoad {
  let stopped = false;
  let sent = 0;

  async function run(own: Dice): Promise<void> {
    const client = createSoakClient(options, own);
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
    async stop() {
      stopped = true;
      await running;
    },
  };
}

/** One client. `next` sends a request; it returns null if no process listens at the address. */
function createSoakClient({ gateways, accounts, mix, log }: LoadOptions, dice: Dice) {
  const unlimited = accounts.filter(({ name }) => name.startsWith('unlimited'));
  const recent: Known[] = [];
  const jobs: (Known & { jobId: string })[] = [];
  let gateway = dice.pick(gateways);

  async function exchange(
    kind: Observation['kind'],
    { account, request }: Known,
    path: string,
    options: Parameters<typeof send>[2],
  ): Promise<Observation | null> {
    const sentAt = Date.now();
    const answer = await send(`${gateway}${path}`, account, options);
    if (answer === null) return null;
    const { accountId } = account;
    const seen = {
      kind,
      accountId,
      path,
      chargeId: request.chargeId,
      sentAt,
      endedAt: Date.now(),
      ...answer,
    };
    log.note(seen);
    return seen;
  }

  async function call(): Promise<Observation['outcome'] | null> {
    const known = choose();
    recent.push(known);
    if (recent.length > REMEMBERED) recent.shift();
    const manner = dice.fraction();
    const prefer = manner < mix.async ? 'respond-async' : manner < mix.async + mix.wait ? 'wait=1' : null;
    const leavesAfterMs = dice.fraction() < mix.leaves ? dice.integer(5, 400) : null;
    const seen = await exchange('call', known, known.request.path, { prefer, leavesAfterMs });
    if (seen?.outcome === 'accepted' && seen.jobId) jobs.push({ ...known, jobId: seen.jobId });
    if (jobs.length > REMEMBERED) jobs.shift();
    return seen?.outcome ?? null;
  }

  function choose(): Known {
    const choice = dice.fraction();
    if (choice < mix.repeated && recent.length > 0) return dice.pick(recent);
    const account = dice.pick(dice.fraction() < mix.unlimited ? unlimited : accounts);
    const isPopular = choice < mix.repeated + mix.popular;
    return { account, request: isPopular ? popularRequest(dice) : randomRequest(dice) };
  }

  async function followUp(): Promise<Observation['outcome'] | null> {
    const job = dice.pick(jobs);
    const mood = dice.fraction();
    if (mood < 0.2)
      return (await exchange('cancel', job, `/api/jobs/${job.jobId}`, { method: 'DELETE' }))?.outcome ?? null;
    const wait = mood < 0.5 ? '?wait=2' : '';
    return (await exchange('poll', job, `/api/jobs/${job.jobId}/result${wait}`, {}))?.outcome ?? null;
  }

  return {
    async next(): Promise<Observation['outcome'] | null> {
      if (dice.fraction() < CHANGES_GATEWAY) gateway = dice.pick(gateways);
      const outcome = jobs.length > 0 && dice.fraction() < mix.followUp ? await followUp() : await call();
      if (outcome === null || outcome === 'unheard') gateway = dice.pick(gateways);
      return outcome;
    },
  };
}
