import type { Settlements } from '../src/billing/settlement.ts';
import { type Clock, sleep } from '../src/platform/clock.ts';
import { toRecord } from '../src/platform/error-record.ts';
import { SoukError } from '../src/platform/errors.ts';
import type { Logger } from '../src/platform/log.ts';
import type { CallEvents } from '../src/platform/telemetry/call-events.ts';
import { type CallToEnd, endCall, noteRefund } from './end-call.ts';

export interface GiveBackDeps {
  settlements: Settlements;
  clock: Clock;
  events: CallEvents;
  log: Logger;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 10_000;

const REFUSED = toRecord(
  new SoukError('BUSY', {
    message: 'The request for this call was refused, so the call costs nothing; retry.',
  }),
);

/**
 * Releases a call whose caller is refused although the call was admitted, or refunds it if it has been charged meanwhile. Resolves
 * after the first attempt. If that fails, attempts go on in the background until PostgreSQL answers.
 */
export async function giveBack(deps: GiveBackDeps, call: CallToEnd): Promise<void> {
  try {
    await releaseOrRefund(deps, call);
  } catch (error) {
    deps.log.warn({ err: error, callId: call.callId }, 'failed to release the call of a refused request');
    void giveBackLater(deps, call);
  }
}

/** Does the same in the background only. @param afterMs until PostgreSQL begins no admission of this call any more. */
export async function giveBackLater(deps: GiveBackDeps, call: CallToEnd, afterMs = 0): Promise<void> {
  const { clock, log } = deps;
  const { callId } = call;
  for (let pauseMs = Math.max(FIRST_PAUSE_MS, afterMs); ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    await sleep(clock, pauseMs, undefined, 'refused call');
    try {
      await releaseOrRefund(deps, call);
      log.info({ callId }, 'ended the call of a refused request');
      return;
    } catch (error) {
      log.warn({ err: error, callId }, 'failed to release the call of a refused request');
    }
  }
}

/** A call that does not exist was not admitted. */
async function releaseOrRefund(deps: GiveBackDeps, call: CallToEnd): Promise<void> {
  const ended = await endCall(deps, call, { error: REFUSED });
  if (ended?.state === 'settled')
    noteRefund(deps, call, await deps.settlements.refund(call, REFUSED), REFUSED);
}
