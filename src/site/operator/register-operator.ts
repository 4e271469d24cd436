import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isOf } from '../../accounts/operator-session.ts';
import { createTokenCheck, credentialOf, TOKEN_CHALLENGE } from '../../accounts/operator-token.ts';
import { SoukError } from '../../platform/errors.ts';
import type { Pages } from '../pages.ts';
import { registerAccountActions } from './account-actions.tsx';
import { registerAccountPage } from './account-page.tsx';
import { registerAccountSearch } from './account-search.tsx';
import { registerConsole } from './console.tsx';
import { registerErrors } from './errors.tsx';
import { registerOffers } from './offers.tsx';
import { registerPurchases } from './purchases.tsx';
import { registerReports } from './reports.tsx';
import { operatorAttempt, registerOperatorSignIn } from './sign-in.tsx';
import { registerUpstream } from './upstream.tsx';

/** Pages that require a signed-in operator. */
const OPERATOR_PAGES = [
  registerConsole,
  registerAccountSearch,
  registerAccountPage,
  registerAccountActions,
  registerPurchases,
  registerOffers,
  registerUpstream,
  registerErrors,
  registerReports,
];

/** Registers the operator console. It accepts a session, or the token in a request's Authorization header. */
export function registerOperator(scope: FastifyInstance, pages: Pages, adminToken: string): void {
  const isGood = createTokenCheck(adminToken);

  scope.addHook('onRequest', async (request, reply) => {
    const { session } = request;
    // A session that was started with an earlier token has ended.
    if (session?.kind === 'operator' && !isOf(session, adminToken)) request.session = null;
    const { authorization } = request.headers;
    if (request.session || authorization === undefined) return;
    if (!isGood(authorization)) throw await refusal(request, reply);
    request.session = {
      kind: 'operator',
      tokenHash: Buffer.alloc(0),
      credential: credentialOf(adminToken),
    };
  });
  registerOperatorSignIn(scope, pages, adminToken);
  scope.register(async (signedIn) => {
    signedIn.addHook('preHandler', async (request, reply) => {
      if (request.session?.kind === 'operator') return undefined;
      const to = request.method === 'GET' ? `?to=${encodeURIComponent(request.url)}` : '';
      return reply.redirect(`/admin/sign-in${to}`, 303);
    });
    for (const register of OPERATOR_PAGES) register(signedIn, pages);
  });

  async function refusal(request: FastifyRequest, reply: FastifyReply): Promise<SoukError> {
    const waitSeconds = await pages.attempts.count(operatorAttempt(request));
    if (waitSeconds !== null) reply.header('retry-after', waitSeconds);
    reply.header('www-authenticate', TOKEN_CHALLENGE);
    return new SoukError('KEY_INVALID', { message: 'Incorrect operator token.' });
  }
}
