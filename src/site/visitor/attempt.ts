import type { FastifyReply } from 'fastify';
import type { Attempt, Attempts } from '../../accounts/attempts.ts';
import { FormRefused } from '../kit/form-request.ts';
import { counted } from '../kit/words.tsx';

/** Counts an attempt to sign in. @throws FormRefused after too many attempts. */
export async function countAttempt(
  { attempts }: { attempts: Attempts },
  reply: FastifyReply,
  attempt: Attempt,
): Promise<void> {
  const waitSeconds = await attempts.count(attempt);
  if (waitSeconds === null) return;
  reply.header('retry-after', waitSeconds);
  const minutes = Math.ceil(waitSeconds / 60);
  throw new FormRefused(429, { '': `Too many attempts. Try again in ${counted(minutes, 'minute')}.` });
}
