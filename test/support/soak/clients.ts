import { ERRORS } from '../../../src/platform/errors.ts';
import { createClient, type Reply } from '../client.ts';
import type { SoakAccount } from './accounts.ts';
import type { Dice } from './dice.ts';
import { randomRequest, type SoakRequest } from './requests.ts';

/** The answer that a client received for one call. */
export interface Observation {
  accountId: number;
  request: SoakRequest;
  sentAt: number;
  endedAt: number;
  /**
   * answered: with the data. accepted: with a job. refused: before any unit was reserved. failed: with an error after
   * units were reserved. unheard: the connection broke, or the client disconnected.
   */
  outcome: 'answered' | 'accepted' | 'refused' | 'failed' | 'unheard';
  /** HTTP status and code, or the reason why there was no answer. */
  said: string;
  jobId: string | null;
  units: number;
}

export interface SoakLoad {
  observations: Observation[];
  /** Sends no more calls; resolves when all that were sent have been answered. */
  stop(): Promise<void>;
}

/** Pause between the calls of one client; a refused connection would otherwise be tried thousands of times. */
const PAUSE_MS = 15;

/** How many of its last calls a client may repeat. */
const REPEATABLE = 20;

/** The time limit of an answer. The limits of the service are shorter. */
const PATIENCE_MS = 90_000;

/** Runs `count` clients that send calls through either gateway, with the key of any account. */
export function startClients(options: {
  gateways: readonly string[];
  accounts: readonly SoakAccount[];
  count: number;
  dice: Dice;
}): SoakLoad {
  const { gateways, accounts, count, dice } = options;
  const observations: Observation[] = [];
  let stopped = false;

  async function run(own: Dice): Promise<void> {
    const recent: { account: SoakAccount; request: SoakRequest }[] = [];
    while (!stopped) {
      const isRepeated = recent.length > 0 && own.fraction() < 0.3;
      const call = isRepeated
        ? own.pick(recent)
        : { account: own.pick(accounts), request: randomRequest(own) };
      recent.push(call);
      if (recent.length > REPEATABLE) recent.shift();
      observations.push(await send(own.pick(gateways), call.account, call.request, own));
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  const running = Promise.all(Array.from({ length: count }, () => run(dice.fork())));
  return {
    observations,
    async stop() {
      stopped = true;
      await running;
    },
  };
}

async function send(
  gateway: string,
  { accountId, key }: SoakAccount,
  request: SoakRequest,
  dice: Dice,
): Promise<Observation> {
  const manner = dice.fraction();
  const prefer = manner < 0.2 ? 'respond-async' : manner < 0.3 ? 'wait=1' : null;
  const leavesAfterMs = manner > 0.95 ? dice.integer(5, 400) : PATIENCE_MS;
  const sentAt = Date.now();
  const about = { accountId, request, sentAt };
  try {
    const reply = await createClient(gateway, key).get(request.path, {
      headers: prefer ? { prefer } : {},
      signal: AbortSignal.timeout(leavesAfterMs),
    });
    return { ...about, endedAt: Date.now(), ...heard(reply) };
  } catch (error) {
    const { code, name } = error as NodeJS.ErrnoException;
    return {
      ...about,
      endedAt: Date.now(),
      outcome: 'unheard',
      said: code ?? name,
      jobId: null,
      units: 0,
    };
  }
}

/** Returns the facts about a call in its answer. */
export function heard(reply: Reply): Pick<Observation, 'outcome' | 'said' | 'jobId' | 'units'> {
  const { status, headers } = reply;
  const jobId = headers['x-job-id'] ?? null;
  const units = Number(headers['x-units-consumed']);
  const said = headers['x-deduplicated'] === 'true' ? `${status} joined` : String(status);
  if (status === 200) return { outcome: 'answered', said, jobId, units };
  if (status === 202) return { outcome: 'accepted', said, jobId, units };
  const { code } = reply.json;
  const known = Object.values(ERRORS).find((error) => error.code === code);
  const outcome = known?.units === 'none' ? 'refused' : 'failed';
  return { outcome, said: `${status} ${code}`, jobId, units };
}
