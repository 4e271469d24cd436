import type { Database } from '../platform/db/pool.ts';
import type { Attempts } from './attempts.ts';
import { isKnownDevice } from './known-device.ts';
import { readOperatorTwoFactor } from './operator-two-factor.ts';

export interface Guess {
  address: string;
  /** The cookie of a browser in which the operator has signed in before. */
  device: string | undefined;
  isRight: boolean;
}

/**
 * `waitSeconds`: too many incorrect tokens came from this network, and this one was not checked. `needsCode`: the token is correct,
 * and two-factor sign-in is on.
 */
export type Verdict = { isRight: boolean; waitSeconds: number | null; needsCode?: boolean };

/** Decides whether a request with an operator token is accepted, and limits attempts to guess the token. */
export interface OperatorGuard {
  /** Judges a token of the sign-in page, which a code may have to follow. */
  judge(guess: Guess): Promise<Verdict>;
  /** Judges a token of a header, which cannot have a code: while two-factor sign-in is on, no token is accepted there. */
  judgeHeader(guess: Guess): Promise<Verdict>;
}

export interface GuardDeps {
  database: Database;
  attempts: Pick<Attempts, 'tokenWait' | 'countWrongToken'>;
}

/** @param onRefused called after an incorrect token, with the address it came from. */
export function createOperatorGuard(
  adminToken: string,
  { database, attempts }: GuardDeps,
  onRefused: (address: string) => Promise<void>,
): OperatorGuard {
  async function judge({ address, device, isRight }: Guess): Promise<Verdict> {
    const isKnown = isKnownDevice(device, adminToken);
    const waitSeconds = isKnown ? null : await attempts.tokenWait(address);
    if (waitSeconds !== null) return { isRight: false, waitSeconds };
    if (!isRight) {
      await attempts.countWrongToken(address);
      await onRefused(address);
    }
    return { isRight, waitSeconds };
  }
  return {
    judge,
    async judgeHeader(guess) {
      const verdict = await judge(guess);
      if (!verdict.isRight || !(await readOperatorTwoFactor(database)).isOn) return verdict;
      return { ...verdict, isRight: false, needsCode: true };
    },
  };
}
