import type { FastifyReply } from 'fastify';
import { FormRefused } from '../kit/form-request.ts';
import { counted } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';

/** Refuses an attempt to sign in or to sign up. @param waitSeconds null: it is allowed. @throws FormRefused. */
export function refuseTooMany(
  { events }: Pick<Pages, 'events'>,
  reply: FastifyReply,
  waitSeconds: number | null,
): void {
  if (waitSeconds === null) return;
  events.emit({ type: 'request.refused', error: 'TOO_MANY_ATTEMPTS' });
  reply.header('retry-after', waitSeconds);
  const minutes = Math.ceil(waitSeconds / 60);
  throw new FormRefused(429, { '': `Too many attempts. Try again in ${counted(minutes, 'minute')}.` });
}
