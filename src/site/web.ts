import csrf from '@fastify/csrf-protection';
import forms from '@fastify/formbody';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { credentialOf } from '../accounts/operator-sign-in.ts';
import { endOperatorSessions } from '../accounts/sessions.ts';
import { occupy } from '../api/limits/limits.ts';
import { registerCookies } from '../api/plugins/cookies.ts';
import { SoukError } from '../platform/errors.ts';
import { registerBatchList, registerBatchPage, registerNewBatch } from './customer/batches.tsx';
import { registerCheckout } from './customer/checkout.tsx';
import { registerExplore } from './customer/explore/explore-page.tsx';
import { registerJobList, registerJobPage } from './customer/jobs.tsx';
import { registerKeys, registerTestMode } from './customer/keys.tsx';
import { registerLedger } from './customer/ledger.tsx';
import { registerOverview } from './customer/overview.tsx';
import { registerPlans } from './customer/plans.tsx';
import { registerPurchasePage } from './customer/purchases.tsx';
import { registerRenewals } from './customer/renewals.tsx';
import { registerSchedules } from './customer/schedules.tsx';
import { registerSettings } from './customer/settings.tsx';
import { registerTopUp } from './customer/top-up.tsx';
import { registerTrackers } from './customer/trackers.tsx';
import { registerTry } from './customer/try.tsx';
import { registerPicture } from './customer/try-picture.tsx';
import { registerUsage } from './customer/usage.tsx';
import { registerDeliveryPage, registerWebhookPages } from './customer/webhooks.tsx';
import { registerDocs } from './docs/docs-pages.tsx';
import { registerAnnouncements } from './kit/announcements.tsx';
import { registerAssets } from './kit/assets.ts';
import { registerErrorPages } from './kit/error-page.tsx';
import { setPageHeaders } from './kit/render.tsx';
import { registerOperator } from './operator/register-operator.ts';
import type { Pages, SiteDeps } from './pages.ts';
import { loadSession, returnQuery } from './session.ts';
import { registerHome } from './visitor/home.tsx';
import {
  registerConfirmEmail,
  registerForgotPassword,
  registerResetPassword,
  registerUnsubscribe,
} from './visitor/mailed-links.tsx';
import { registerSignIn, registerSignUp } from './visitor/sign-in.tsx';
import { registerStatus } from './visitor/status.tsx';

const PUBLIC_PAGES = [
  registerHome,
  registerSignUp,
  registerSignIn,
  registerForgotPassword,
  registerResetPassword,
  registerConfirmEmail,
];

/** Pages that require a signed-in customer. */
const ACCOUNT_PAGES = [
  registerOverview,
  registerExplore,
  registerPlans,
  registerCheckout,
  registerPurchasePage,
  registerRenewals,
  registerTopUp,
  registerKeys,
  registerTestMode,
  registerSettings,
  registerUsage,
  registerLedger,
  registerJobList,
  registerJobPage,
  registerBatchList,
  registerNewBatch,
  registerBatchPage,
  registerSchedules,
  registerTrackers,
  registerWebhookPages,
  registerDeliveryPage,
  registerTry,
  registerPicture,
];

/** Registers all pages: those of visitors, customers and the operator, and the documentation. */
export function registerWeb(app: FastifyInstance, deps: SiteDeps): void {
  const { publicUrl = null, ...rest } = deps;
  const { adminToken, database, log } = deps;
  const pages: Pages = { ...rest, publicUrl };
  app.addHook('onReady', async () => {
    // Sessions of an earlier token are refused in any case. Ending them also revokes the keys of their pages.
    const credential = adminToken === undefined ? null : credentialOf(adminToken);
    await endOperatorSessions(database, credential).catch((error: unknown) =>
      log.warn({ err: error }, 'failed to end the sessions of an earlier operator token'),
    );
  });
  const polled = [pages.statusBoard, pages.announcements];
  app.addHook('onReady', async () => {
    await Promise.all(polled.map((value) => value.refresh()));
  });
  app.addHook('onClose', async () => {
    await Promise.all(polled.map((value) => value.stop()));
  });
  registerAnnouncements(app, pages);
  registerStatus(app, pages);
  registerAssets(app);
  // The demo provider listens on its own machine only.
  if (deps.pictureRoutes && (deps.hasDemoPictures || deps.testMode)) app.register(deps.pictureRoutes);
  registerDocs(app, pages);
  if (adminToken !== undefined)
    app.register(async (scope) => {
      await preparePages(scope, pages, 'operator');
      registerOperator(scope, pages, adminToken);
    });
  app.register(async (scope) => {
    scope.decorateRequest('session', null);
    setPageHeaders(scope);
    registerErrorPages(scope, pages);
    registerUnsubscribe(scope, pages);
  });
  app.register(async (scope) => {
    await preparePages(scope, pages, 'customer');
    scope.register(async (open) => {
      pages.limits.openPages.limit(open);
      for (const register of PUBLIC_PAGES) register(open, pages);
    });
    scope.register(async (account) => registerAccount(account, pages));
  });
}

function registerAccount(account: FastifyInstance, pages: Pages): void {
  account.addHook('preHandler', async (request, reply) => {
    if (request.session?.kind === 'customer') {
      const { occupies } = request.routeOptions.config;
      const kind = typeof occupies === 'string' ? occupies : 'pages';
      occupy(pages.limits, { kind, accountId: request.session.accountId }, request, reply);
      return undefined;
    }
    const to = isReading(request) ? returnQuery(request.url) : '';
    return reply.redirect(`/sign-in${to}`, 303);
  });
  for (const register of ACCOUNT_PAGES) register(account, pages);
  account.get('/account/*', () => {
    throw new SoukError('NOT_FOUND');
  });
}

/** Prepares a scope for pages: cookies, forms with their tokens, sessions, headers and error pages. */
async function preparePages(
  scope: FastifyInstance,
  pages: Pages,
  kind: 'customer' | 'operator',
): Promise<void> {
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
  scope.decorateRequest('session', null);
  setPageHeaders(scope, pages.payments.checkoutOrigins);
  registerErrorPages(scope, pages);
  scope.addHook('onRequest', loadSession(pages, kind));
  // A request that changes something must come from a form of this site.
  scope.addHook('preHandler', (request, reply, done) => {
    if (isReading(request)) done();
    else scope.csrfProtection(request, reply, done);
  });
  scope.addHook('preHandler', refuseChangesByOperator);
}

/** Refuses changes by an operator who views a customer's pages. */
async function refuseChangesByOperator(request: FastifyRequest): Promise<void> {
  const { session, url } = request;
  if (isReading(request) || url === '/sign-out') return;
  if (session?.kind === 'customer' && session.isOperator)
    throw new SoukError('KEY_FORBIDDEN', {
      message: "You are viewing a customer's pages as the operator. Changes are not allowed here.",
    });
}

function isReading({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD';
}

function tokenIn(body: unknown): string {
  const token = (body as { _csrf?: unknown } | null | undefined)?._csrf;
  return typeof token === 'string' ? token : '';
}
