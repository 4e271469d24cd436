import { RETRY_DELAYS_MS } from '../platform/retry-delays.ts';
import type { ClaimedMail } from './claims.ts';
import type { Topic } from './kinds/content.ts';
import type { MailWay } from './mail-settings.ts';

/** The state of a mail after an attempt. `drop`: it is deleted. */
export type Verdict =
  | { state: 'sent'; error: null }
  | { state: 'failed'; error: string }
  | { state: 'not_sent'; error: string }
  | { state: 'pending'; error: string; nextAttemptAt: number }
  | { state: 'drop' };

/** Why an attempt has failed. */
export interface Failure {
  /** A sentence for the operator. */
  error: string;
  /** The server has refused this mail or its recipient for good. */
  isFinal: boolean;
}

/** @param tries how many attempts failed before this one. @param now when this attempt ended. */
export function verdictOf(failure: Failure | null, tries: number, now: number): Verdict {
  if (failure === null) return { state: 'sent', error: null };
  const delayMs = RETRY_DELAYS_MS[tries];
  const { error, isFinal } = failure;
  if (isFinal || delayMs === undefined) return { state: 'failed', error };
  return { state: 'pending', error, nextAttemptAt: now + delayMs };
}

/**
 * Why a mail is not sent; null if it is. A notice goes only to a confirmed address, because any visitor can sign up with the
 * address of another person. Mails about security, and those with a link that confirms the address, go to each address.
 */
export function reasonNotToSend(
  { isConfirmed, isActive, topicsOff }: Pick<ClaimedMail, 'isConfirmed' | 'isActive' | 'topicsOff'>,
  topic: Topic | null,
  way: MailWay,
): string | null {
  if (way === 'none') return 'This service sends no mails: SMTP_URL is not set.';
  if (topic === null) return null;
  if (topicsOff.includes(topic)) return 'The account has switched off mails of this kind.';
  if (!isActive) return 'The account is not active.';
  if (!isConfirmed && way === 'sent') return 'The e-mail address is not confirmed.';
  return null;
}
