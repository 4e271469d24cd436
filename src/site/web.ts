import csrf from '@fastify/csrf-protection';
import forms from '@fastify/formbody';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { accountNamed, addressFor } from '../accounts/account-address.ts';
import type { Ability } from '../accounts/members.ts';
import { CONSENT_PATH } from '../api/connect/provider.ts';
import { occupy } from '../api/limits/limits.ts';
import { registerCookies } from '../api/plugins/cookies.ts';
import { SoukError } from '../platform/errors.ts';
import { registerAccountAudit } from './customer/audit.tsx';
import { registerBatchList, registerBatchPage } from './customer/batches.tsx';
import { registerCheckout } from './customer/checkout.tsx';
import { registerConsent } from './customer/consent.tsx';
import { registerChartLinks, registerSharedChart } from './customer/explore/chart-links.tsx';
import { registerExplore } from './customer/explore/explore-page.tsx';
import { registerJobPage } from './customer/job-page.tsx';
import { registerCallErrors, registerJobList } from './customer/jobs.tsx';
import { registerKeys, registerTestMode } from './customer/keys.tsx';
import { registerLedger } from './customer/ledger.tsx';
import { registerLinks } from './customer/links.tsx';
import { registerNewBatch } from './customer/new-batch.tsx';
import { registerOverview } from './customer/overview.tsx';
import { registerPlans } from './customer/plans.tsx';
import { registerProfile } from './customer/profile.tsx';
import { registerPurchasePage } from './customer/purchases.tsx';
import { registerRenewals } from './customer/renewals.tsx';
import { registerSchedules } from './customer/schedules.tsx';
import { registerSearch } from './customer/search.tsx';
import { registerAccountData, registerNotices, registerSettings } from './customer/settings.tsx';
import { registerTeam } from './customer/team.tsx';
import { registerTopUp } from './customer/top-up.tsx';
import { registerTrackers } from './customer/trackers.tsx';
import { registerPicture, registerTry } from './customer/try.tsx';
import { registerTwoFactor } from './customer/two-factor-settings.tsx';
import { registerUsage } from './customer/usage.tsx';
import { registerDeliveryPage, registerWebhookPages } from './customer/webhooks.tsx';
import { registerDocs } from './docs/docs-pages.tsx';
import { registerAnnouncements } from './kit/announcements.tsx';
import { registerAssets } from './kit/assets.ts';
import { registerErrorPages } from './kit/error-page.tsx';
import { setPageHeaders } from './kit/render.tsx';
import { registerOperator } from './operator/register-operator.ts';
import { writePageActs } from './page-acts.ts';
import { type Pages, requireAble, type SiteDeps } from './pages.ts';
import { enter, loadSession, returnQuery } from './session.ts';
import { registerHome } from './visitor/home.tsx';
import { registerInvitation } from './visitor/invitation.tsx';
import {
  registerConfirmEmail,
  registerForgotPassword,
  registerResetPassword,
  registerUnsubscribe,
} from './visitor/mailed-links.tsx';
import { registerPricing } from './visitor/pricing.tsx';
import { registerSignIn, registerSignUp, singleSignOnPath } from './visitor/sign-in.tsx';
import { registerSingleSignOn } from './visitor/single-sign-on.tsx';
import { registerStatus } from './visitor/status.tsx';

/** Pages of a person who has signed in. */
const PERSON_PAGES = [registerProfile, registerTwoFactor, registerConsent];

const PUBLIC_PAGES = [
  registerHome,
  registerPricing,
  registerSignUp,
  registerSignIn,
  registerSingleSignOn,
  registerForgotPassword,
  registerResetPassword,
  registerConfirmEmail,
  registerInvitation,
  registerSharedChart,
];

export type RegisterPages = (scope: FastifyInstance, pages: Pages) => void;

/** Pages of an account. Members read all of them; what else a page does requires the ability; null: membership. */
const ACCOUNT_PAGES: readonly (readonly [register: RegisterPages, ability: Ability | null])[] = [
  [registerOverview, 'work'],
  [registerSearch, null],
  [registerExplore, 'work'],
  [registerChartLinks, 'work'],
  [registerPlans, 'billing'],
  [registerCheckout, 'billing'],
  [registerPurchasePage, 'billing'],
  [registerRenewals, 'billing'],
  [registerTopUp, 'billing'],
  [registerKeys, 'keys'],
  [registerTestMode, 'keys'],
  [registerTeam, 'people'],
  [registerAccountAudit, 'people'],
  [registerSettings, 'people'],
  [registerNotices, null],
  [registerAccountData, 'ownership'],
  [registerUsage, 'work'],
  [registerLedger, 'work'],
  [registerJobList, 'work'],
  [registerCallErrors, 'work'],
  [registerJobPage, 'work'],
  [registerBatchList, 'work'],
  [registerNewBatch, 'work'],
  [registerBatchPage, 'work'],
  [registerLinks, 'work'],
  [registerSchedules, 'work'],
  [registerTrackers, 'work'],
  [registerWebhookPages, 'work'],
  [registerDeliveryPage, 'work'],
  [registerTry, 'work'],
  [registerPicture, 'work'],
];

/** Registers all pages: those of visitors, customers and the operator, and the documentation. */
export function registerWeb(app: FastifyInstance, deps: SiteDeps): void {
  const { publicUrl = null, ...rest } = deps;
  const { adminToken } = deps;
  const pages: Pages = { ...rest, publicUrl };
  const polled = [pages.statusBoard, pages.announcements];
  app.addHook('onReady', async () => {
    await Promise.all(polled.map((value) => value.refresh()));
  });
  app.addHook('onClose', async () => {
    await Promise.all(polled.map((value) => value.stop()));
  });
  app.decorate('offeredBy', { getter: () => pages.offeredBy });
  registerAnnouncements(app, pages);
  registerStatus(app, pages);
  registerAssets(app);
  // The demo provider listens on its own machine only.
  if (deps.pictureRoutes && (deps.hasDemoPictures || deps.testMode)) app.register(deps.pictureRoutes);
  registerDocs(app, pages);
  if (adminToken !== undefined)
    app.register(async (scope) => {
      await preparePages(scope, pages);
      registerOperator(scope, pages, adminToken);
    });
  app.register(async (scope) => {
    decorateWithPerson(scope);
    setPageHeaders(scope);
    registerErrorPages(scope, pages);
    registerUnsubscribe(scope, pages);
  });
  app.register(async (scope) => {
    await preparePages(scope, pages);
    scope.register(async (open) => {
      pages.limits.openPages.limit(open);
      for (const register of PUBLIC_PAGES) register(open, pages);
      open.register(async (person) => registerPerson(person, pages));
    });
    scope.register(async (account) => registerAccount(account, pages));
  });
}

const SSO_REQUIRED = 'This account requires its members to sign in by single sign-on. Open one of its pages.';

/** Registers the pages of accounts, each of which is for the account that its address names. */
function registerAccount(scope: FastifyInstance, pages: Pages): void {
  scope.addHook('preHandler', async (request, reply) => {
    const { session, originalUrl, url } = request;
    if (!session) return reply.redirect(`/sign-in${isReading(request) ? returnQuery(originalUrl) : ''}`, 303);
    const accountId = accountNamed(originalUrl);
    if (accountId === null) {
      if (!isReading(request)) throw new SoukError('NOT_FOUND');
      const { lastAccountId } = session;
      return reply.redirect(lastAccountId === null ? '/profile' : addressFor(lastAccountId, url), 303);
    }
    if (!(await enter(pages, request, session, accountId))) {
      if (!isReading(request)) throw new SoukError('KEY_FORBIDDEN', { message: SSO_REQUIRED });
      return reply.redirect(singleSignOnPath(originalUrl), 303);
    }
    const { occupies } = request.routeOptions.config;
    const kind = typeof occupies === 'string' ? occupies : 'pages';
    occupy(pages.limits, { kind, accountId }, request, reply);
    return undefined;
  });
  // A page redirects to the pages of the same account.
  scope.addHook('onSend', async ({ entered }, reply) => {
    const location = reply.getHeader('location');
    if (entered && typeof location === 'string')
      reply.header('location', addressFor(entered.accountId, location));
  });
  writePageActs(scope, pages);
  for (const [register, ability] of ACCOUNT_PAGES) {
    scope.register(async (group) => {
      group.addHook('preHandler', async (request) => requireAbility(request, ability));
      register(group, pages);
    });
  }
  scope.get('/account/*', () => {
    throw new SoukError('NOT_FOUND');
  });
}

/** @throws SoukError KEY_FORBIDDEN if a request changes something, and the role of the person does not allow it. */
function requireAbility(request: FastifyRequest, ability: Ability | null): void {
  const { entered } = request;
  if (isReading(request) || !entered) return;
  if (entered.isStaff)
    throw new SoukError('KEY_FORBIDDEN', {
      message: "You are viewing a customer's pages for the operator. Changes are not allowed here.",
    });
  if (ability) requireAble(entered.role, ability);
}

/** Registers the pages of a person, which are not about one account. */
function registerPerson(scope: FastifyInstance, pages: Pages): void {
  scope.addHook('preHandler', async (request, reply) => {
    if (request.session) return undefined;
    const isToReturn = isReading(request) || request.routeOptions.url?.startsWith(CONSENT_PATH);
    return reply.redirect(`/sign-in${isToReturn ? returnQuery(request.originalUrl) : ''}`, 303);
  });
  writePageActs(scope, pages);
  for (const register of PERSON_PAGES) register(scope, pages);
}

function decorateWithPerson(scope: FastifyInstance): void {
  scope.decorateRequest('session', null);
  scope.decorateRequest('entered', null);
  scope.decorateRequest('staff', null);
}

/** Prepares a scope for pages: cookies, forms with their tokens, sessions, headers and error pages. */
async function preparePages(scope: FastifyInstance, pages: Pages): Promise<void> {
  await registerCookies(scope, pages.publicUrl);
  scope.removeAllContentTypeParsers();
  await scope.register(forms, { bodyLimit: 65_536 });
  await scope.register(csrf, {
    cookieKey: 'souk_form',
    cookieOpts: { path: '/', httpOnly: true, sameSite: 'lax' },
    getToken: (request) => tokenIn(request.body),
    logLevel: 'debug',
  });
  // Monitoring tools send HEAD requests.
  scope.addHook('onRoute', function addHead(this: FastifyInstance, route) {
    if (route.method === 'GET') this.route({ ...route, url: route.routePath, method: 'HEAD' });
  });
  decorateWithPerson(scope);
  setPageHeaders(scope, pages.payments.checkoutOrigins);
  registerErrorPages(scope, pages);
  scope.addHook('onRequest', loadSession(pages));
  // A request that changes something must come from a form of this site.
  scope.addHook('preHandler', (request, reply, done) => {
    if (isReading(request)) done();
    else scope.csrfProtection(request, reply, done);
  });
}

function isReading({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

function tokenIn(body: unknown): string {
  const token = (body as { _csrf?: unknown } | null | undefined)?._csrf;
  return typeof token === 'string' ? token : '';
}
