import type { FastifyReply, FastifyRequest } from 'fastify';
import { isKnownDevice } from '../../accounts/known-device.ts';
import { networkOf } from '../../accounts/networks.ts';
import type { StoredPassword } from '../../accounts/passwords.ts';
import { notify } from '../notify.ts';
import type { Pages } from '../pages.ts';
import { DEVICE_COOKIE, signInCustomer } from '../session.ts';

/** Starts the session of a customer, and informs the owner if the browser has not signed in before with the present password. @throws PasswordChanged. */
export async function finishSignIn(
  pages: Pages,
  request: FastifyRequest,
  reply: FastifyReply,
  stored: StoredPassword,
): Promise<void> {
  const isKnown = isKnownDevice(request.cookies[DEVICE_COOKIE], stored.digest);
  await signInCustomer(pages, request, reply, stored);
  if (isKnown) return;
  const facts = {
    at: new Date(pages.clock.now()).toISOString(),
    network: networkOf(request.ip),
    browser: (request.headers['user-agent'] ?? 'unknown').slice(0, 200),
  };
  await notify(pages, pages.database, { accountId: stored.accountId, kind: 'new_sign_in', facts });
}
