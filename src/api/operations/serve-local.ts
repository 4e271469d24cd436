import type { FastifyReply, FastifyRequest } from 'fastify';
import { providersFor, type Reports, reportsFor } from '../../../jobs/payload.ts';
import { findKey } from '../../accounts/account-keys.ts';
import { isTestAccount } from '../../accounts/authentication.ts';
import type { Admissions } from '../../billing/admission.ts';
import { unitsByKey } from '../../billing/key-warning.ts';
import { quotaSnapshot } from '../../billing/quota.ts';
import type { OffPeakWindow } from '../../billing/wallets.ts';
import { loadedWeeks } from '../../brand-analytics/weeks.ts';
import { project } from '../../operations/answer-fields.ts';
import { REPORT_SITE_CODES, REPORT_SITES } from '../../operations/brand-analytics/keywords.ts';
import type { LocalOperation, Route } from '../../operations/define.ts';
import type { InputOf, LocalByName, LocalName } from '../../operations/index.ts';
import { formOf } from '../../operations/params/answer-form.ts';
import { SITES } from '../../operations/params/domain.ts';
import type { Providers } from '../../operations/pools.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { sendEnvelope } from '../envelope.ts';
import { type Account, accountOf } from '../plugins/authentication.ts';
import { freeQuoteView } from '../quote-view.ts';
import { callOptionsOf, parseInput } from './call-options.ts';
import type { QuotaSnapshots } from './quota-snapshots.ts';

export interface LocalDeps {
  database: Database;
  reports: Reports;
  admissions: Admissions;
  clock: Clock;
  offPeak: OffPeakWindow;
  providers: Providers;
  links: LinkSettings;
  quotaSnapshots: QuotaSnapshots<Record<string, unknown>>;
}

/** Base addresses of links, without a trailing slash. */
export interface LinkSettings {
  chartSiteUrl: string;
  imageCdnUrl: string;
  /** Of the pictures of invented products, for test keys: this installation. */
  testImageUrl: string;
}

type LocalAnswer<Operation> = (
  deps: LocalDeps,
  input: InputOf<Operation>,
  account: Account,
) => Promise<{ message?: string; data: Record<string, unknown> }>;

/** Serves one route of a local operation. It needs a valid key and is free. */
export function serveLocal(deps: LocalDeps, operation: LocalOperation<LocalName>, route: Route) {
  const answer = LOCAL_ANSWERS[operation.name] as LocalAnswer<LocalOperation>;
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const input = parseInput(operation, route, request, deps.clock.now());
    // maxUnits cannot refuse a free call, but invalid options are refused.
    const { dryRun } = callOptionsOf(request, 0);
    if (dryRun) return sendEnvelope(reply, 200, freeQuoteView(operation));
    const { data, message } = await answer(deps, input, accountOf(request));
    const { fields } = formOf(input);
    return sendEnvelope(reply, 200, fields ? project(operation, data, fields) : data, { message });
  };
}

/** The function that answers each local operation. The compiler requires one for each. */
const LOCAL_ANSWERS: { [Name in LocalName]: LocalAnswer<LocalByName<Name>> } = {
  'account.quota': async (deps, _input, account) => ({
    message: 'Quota of this account',
    data: await deps.quotaSnapshots.read(account, () => readQuota(deps, account)),
  }),

  async 'market.charturl'({ links }, { domain, asins }) {
    const country = SITES[domain];
    const items = asins.map((asin) => ({
      asin,
      url: `${links.chartSiteUrl}/market/product?country=${country}&asin=${asin}`,
    }));
    return {
      data: {
        country,
        domainId: domain,
        count: items.length,
        pluginDownloadUrl: `${links.chartSiteUrl}/plugin`,
        notice: 'The chart pages need a signed-in account of the chart site and its browser plugin.',
        items,
      },
    };
  },

  async 'retail.imageurl'({ links }, { domain, images }, { accountId }) {
    const host = isTestAccount(accountId) ? links.testImageUrl : links.imageCdnUrl;
    const items = images.map((image) => ({ image, url: `${host}/images/I/${image}` }));
    return { data: { country: SITES[domain], domainId: domain, count: items.length, items } };
  },

  async 'aba.countries'({ reports, providers }, _input, { accountId }) {
    const { reports: provider } = providersFor(accountId, providers);
    const weeks = await loadedWeeks(reportsFor(accountId, reports), provider, null);
    const countries = REPORT_SITE_CODES.map((country) => {
      const dates = weeks.filter(({ site }) => site === country).map(({ week }) => week);
      const { tld } = REPORT_SITES[country];
      return { country, latest_report_date: dates[0] ?? null, available_dates: dates, tld };
    });
    return { data: { countries } };
  },
};

async function readQuota(deps: LocalDeps, account: Account) {
  const [snapshot, key] = await Promise.all([
    quotaSnapshot(deps, account, deps.clock.now()),
    keyQuota(deps, account),
  ]);
  return { ...snapshot, key };
}

/** Returns the limits of the key of the request, and what it has used of them; null for a key of the pages. */
async function keyQuota({ database, clock }: LocalDeps, { accountId, keyId }: Account) {
  if (keyId === null) return null;
  const key = await findKey(database, accountId, keyId, clock.now());
  const { id, prefix, name, scopes, capDay, capMonth, expiresAt } = key;
  const used = (await unitsByKey(database, accountId, clock.now())).get(id) ?? { day: 0, month: 0 };
  return { id, prefix, name, scopes, capDay, capMonth, used, expiresAt: expiresAt?.toISOString() ?? null };
}
