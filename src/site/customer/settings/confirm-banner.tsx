import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { v7 as uuid } from 'uuid';
import { findAccount } from '../../../accounts/accounts.ts';
import { SoukError } from '../../../platform/errors.ts';
import { PostButton } from '../../kit/form.tsx';
import { notify } from '../../notify.ts';
import type { Pages } from '../../pages.ts';
import { customerOf } from '../../session.ts';

const PATH = '/account/settings/confirm-email';

/** Registers the button that sends another link to confirm the address. */
export function registerSendConfirmation(scope: FastifyInstance, pages: Pages): void {
  scope.post(PATH, async (request: FastifyRequest, reply: FastifyReply) => {
    const { liveAccountId: accountId } = customerOf(request);
    const retryAfterSeconds = await pages.attempts.countMail(accountId);
    if (retryAfterSeconds !== null)
      throw new SoukError('TOO_MANY_ATTEMPTS', {
        message: 'Five mails have been sent within an hour. Try again later.',
        retryAfterSeconds,
      });
    const facts = { requestId: uuid() };
    await notify(pages, pages.database, { accountId, kind: 'confirm_email', facts });
    return reply.redirect('/account/settings?sent=1', 303);
  });
}

/** The reminder to confirm the address; null if it is confirmed, or if this installation has no mails. */
export async function confirmBanner(
  { database, mail }: Pick<Pages, 'database' | 'mail'>,
  request: FastifyRequest,
): Promise<VNode | null> {
  if (mail === 'none') return null;
  const account = await findAccount(database, customerOf(request).liveAccountId);
  if (!account || account.emailConfirmedAt !== null) return null;
  return (
    <section class="notice warn row" aria-label="Confirm your address">
      <p>
        <strong>Confirm your e-mail address.</strong> Open the link in the mail to {account.email}. Notices go
        only to a confirmed address.
      </p>
      <PostButton action={PATH} class="push">
        Send again
      </PostButton>
    </section>
  );
}
