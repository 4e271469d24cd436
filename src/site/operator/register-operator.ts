import type { FastifyInstance } from 'fastify';
import {
  createOperatorGuard,
  createTokenCheck,
  credentialOf,
  OPERATOR_DEVICE_COOKIE,
} from '../../accounts/operator-sign-in.ts';
import { refusal } from '../../api/require-token.ts';
import { writeRefusal } from '../../operator/audit.ts';
import type { Pages } from '../pages.ts';
import { returnQuery } from '../session.ts';
import { registerAccountActions } from './account-actions.tsx';
import { registerAccountPage } from './account-page.tsx';
import { registerAccountSearch, registerNewAccount } from './accounts.tsx';
import { registerAudit } from './audit.tsx';
import { registerConsole } from './console.tsx';
import { registerErrors } from './errors.tsx';
import { registerMails } from './mails.tsx';
import { registerAnnouncementPage, registerIncidents } from './notices.tsx';
import { registerOffers } from './offers.tsx';
import { registerPurchases } from './purchases.tsx';
import { registerReports } from './reports.tsx';
import { registerOperatorCode, registerOperatorSignIn, registerOperatorTwoFactor } from './sign-in.tsx';
import { registerStorage } from './storage.tsx';
import { registerUpstream } from './upstream.tsx';

/** Pages that require a signed-in operator. */
const OPERATOR_PAGES = [
  registerConsole,
  registerAccountSearch,
  registerNewAccount,
  registerAccountPage,
  registerAccountActions,
  registerPurchases,
  registerOffers,
  registerUpstream,
  registerErrors,
  registerMails,
  registerReports,
  registerStorage,
  registerAnnouncementPage,
  registerIncidents,
  registerAudit,
  registerOperatorTwoFactor,
];

/** Registers the operator console. It accepts a session or, without two-factor sign-in, the token in a request's Authorization header. */
export function registerOperator(scope: FastifyInstance, pages: Pages, adminToken: string): void {
  const isGood = createTokenCheck(adminToken);
  const guard = createOperatorGuard(adminToken, pages, (address) => writeRefusal(pages.database, address));

  scope.addHook('onRequest', async (request, reply) => {
    const { authorization } = request.headers;
    if (request.session || authorization === undefined) return;
    const device = request.cookies[OPERATOR_DEVICE_COOKIE];
    const verdict = await guard.judgeHeader({ address: request.ip, device, isRight: isGood(authorization) });
    // A browser that sends the token by itself must be able to open the sign-in page.
    if (verdict.needsCode) return;
    if (!verdict.isRight) throw refusal(reply, verdict);
    request.session = {
      kind: 'operator',
      tokenHash: Buffer.alloc(0),
      credential: credentialOf(adminToken),
    };
  });
  registerOperatorSignIn(scope, pages, { adminToken, guard });
  registerOperatorCode(scope, pages, adminToken);
  scope.register(async (signedIn) => {
    signedIn.addHook('preHandler', async (request, reply) => {
      if (request.session?.kind === 'operator') return undefined;
      const to = request.method === 'GET' ? returnQuery(request.url) : '';
      return reply.redirect(`/admin/sign-in${to}`, 303);
    });
    for (const register of OPERATOR_PAGES) register(signedIn, pages);
  });
}
