import type { FastifyInstance, FastifyRequest } from 'fastify';
import { createOperatorGuard, createTokenCheck } from '../../accounts/operator-token.ts';
import { hasOperator, type InstallationRole } from '../../accounts/people.ts';
import { refusal } from '../../api/require-token.ts';
import { holderOf, writeRefusal } from '../../operator/audit.ts';
import { SoukError } from '../../platform/errors.ts';
import { type Pages, staffOf } from '../pages.ts';
import { returnQuery } from '../session.ts';
import {
  registerAccountActions,
  registerOwnership,
  registerPackGrants,
  registerSubscriptionGrants,
} from './account-actions.tsx';
import { registerAccountPage } from './account-page.tsx';
import { registerAccountSearch, registerNewAccount } from './accounts.tsx';
import { registerActivity } from './activity.tsx';
import { registerAlerts } from './alerts.tsx';
import { registerAudit } from './audit.tsx';
import { registerConsole } from './console.tsx';
import { registerCoupons } from './coupons.tsx';
import { registerErrors } from './errors.tsx';
import { registerMails } from './mails.tsx';
import { registerMargin } from './margin.tsx';
import { registerAnnouncementPage, registerIncidents } from './notices.tsx';
import { registerOffers } from './offers.tsx';
import { registerProviderAccounts } from './provider-accounts.tsx';
import { registerPurchases } from './purchases.tsx';
import { registerReports } from './reports.tsx';
import { registerClaim, registerStaff } from './staff.tsx';
import { registerStorage } from './storage.tsx';
import { registerUpstream } from './upstream.tsx';

/** Who may change something, besides operators. */
const OPERATORS: readonly InstallationRole[] = [];
const SUPPORT: readonly InstallationRole[] = ['support'];
const FINANCE: readonly InstallationRole[] = ['finance'];

/** Pages of the console. Everybody with a role in the installation reads them; those named, and operators, change something. */
const OPERATOR_PAGES: readonly (readonly [
  register: (scope: FastifyInstance, pages: Pages) => void,
  may: readonly InstallationRole[],
])[] = [
  [registerConsole, OPERATORS],
  [registerAccountSearch, OPERATORS],
  [registerNewAccount, SUPPORT],
  [registerAccountPage, OPERATORS],
  [registerAccountActions, SUPPORT],
  // Support grants at most the units of a setting.
  [registerPackGrants, [...SUPPORT, ...FINANCE]],
  [registerSubscriptionGrants, FINANCE],
  [registerOwnership, OPERATORS],
  [registerPurchases, FINANCE],
  [registerOffers, FINANCE],
  [registerCoupons, FINANCE],
  [registerActivity, OPERATORS],
  [registerMargin, OPERATORS],
  [registerAlerts, OPERATORS],
  [registerUpstream, OPERATORS],
  [registerProviderAccounts, OPERATORS],
  [registerErrors, OPERATORS],
  [registerMails, OPERATORS],
  [registerReports, OPERATORS],
  [registerStorage, OPERATORS],
  [registerAnnouncementPage, OPERATORS],
  [registerIncidents, OPERATORS],
  [registerAudit, OPERATORS],
  [registerStaff, OPERATORS],
];

/** Registers the console, for people with a role in the installation, and for programs that send the operator token. */
export function registerOperator(scope: FastifyInstance, pages: Pages, adminToken: string): void {
  const isGood = createTokenCheck(adminToken);
  const guard = createOperatorGuard(pages.attempts, (address) => writeRefusal(pages.database, address));

  scope.addHook('onRequest', async (request, reply) => {
    const { session, ip } = request;
    const { authorization } = request.headers;
    if (session?.installationRole) {
      request.staff = staffOf(session, request);
    } else if (authorization !== undefined) {
      const verdict = await guard(ip, isGood(authorization));
      if (!verdict.isRight) throw refusal(reply, verdict);
      request.staff = { role: 'operator', operator: holderOf(adminToken, ip) };
    }
  });
  registerClaim(scope, pages, { adminToken, guard });
  scope.register(async (console) => {
    console.addHook('preHandler', async (request, reply) => {
      if (request.staff) return undefined;
      if (request.session)
        return (await hasOperator(pages.database))
          ? Promise.reject(noRole())
          : reply.redirect('/admin/claim', 303);
      const to = request.method === 'GET' ? returnQuery(request.url) : '';
      return reply.redirect(`/sign-in${to}`, 303);
    });
    for (const [register, may] of OPERATOR_PAGES) {
      console.register(async (group) => {
        group.addHook('preHandler', async (request) => requireRole(request, may));
        register(group, pages);
      });
    }
  });
}

function noRole(): SoukError {
  return new SoukError('KEY_FORBIDDEN', {
    message: 'You have no role in this installation. An operator can give you one.',
  });
}

/** @throws SoukError KEY_FORBIDDEN if a request changes something, and the role of the person does not allow it. */
function requireRole({ method, staff }: FastifyRequest, may: readonly InstallationRole[]): void {
  if (method === 'GET' || method === 'HEAD' || !staff) return;
  if (staff.role === 'operator' || may.includes(staff.role)) return;
  const needed = [...may, 'operator'].join(' or ');
  throw new SoukError('KEY_FORBIDDEN', {
    message: `Your role in this installation is ${staff.role}. This requires the role ${needed}.`,
  });
}
