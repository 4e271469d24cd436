import type { FastifyReply, FastifyRequest } from 'fastify';
import { placesOf } from '../../../accounts/attempts.ts';
import { findPassword, isPassword, type StoredPassword } from '../../../accounts/passwords.ts';
import { FormRefused } from '../../kit/form-request.ts';
import type { Pages } from '../../pages.ts';
import { customerOf } from '../../session.ts';
import { refuseTooMany } from '../../visitor/attempt.ts';

/** Verifies the password of the signed-in customer. @param field of the form. @throws FormRefused. */
export async function verifyPassword(
  pages: Pages,
  request: FastifyRequest,
  reply: FastifyReply,
  { field, password }: { field: string; password: string },
): Promise<StoredPassword> {
  const { email, liveAccountId: accountId } = customerOf(request);
  const attempt = { address: request.ip, email, isKnownDevice: true };
  refuseTooMany(pages, reply, await pages.attempts.count(attempt));
  const stored = await findPassword(pages.database, email);
  if (!(await isPassword(stored, password, placesOf(attempt))) || stored?.accountId !== accountId)
    throw new FormRefused(400, { [field]: 'Incorrect password' });
  await pages.attempts.forgive(attempt);
  return stored;
}
