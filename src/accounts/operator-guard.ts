import type { Attempts } from './attempts.ts';
import { isKnownDevice } from './known-device.ts';

export interface Guess {
  address: string;
  /** The cookie of a browser in which the operator has signed in before. */
  device: string | undefined;
  isRight: boolean;
}

/** `waitSeconds`: too many incorrect tokens came from this network, and this one was not checked. */
export type Verdict = { isRight: boolean; waitSeconds: number | null };

/** Decides whether a request with an operator token is accepted, and limits attempts to guess the token. */
export interface OperatorGuard {
  judge(guess: Guess): Promise<Verdict>;
}

/** @param onRefused called after an incorrect token, with the address it came from. */
export function createOperatorGuard(
  adminToken: string,
  attempts: Pick<Attempts, 'tokenWait' | 'countWrongToken'>,
  onRefused: (address: string) => Promise<void>,
): OperatorGuard {
  return {
    async judge({ address, device, isRight }) {
      const isKnown = isKnownDevice(device, adminToken);
      const waitSeconds = isKnown ? null : await attempts.tokenWait(address);
      if (waitSeconds !== null) return { isRight: false, waitSeconds };
      if (!isRight) {
        await attempts.countWrongToken(address);
        await onRefused(address);
      }
      return { isRight, waitSeconds };
    },
  };
}
