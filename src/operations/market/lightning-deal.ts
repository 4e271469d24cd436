import { z } from 'zod';
import { amount, indexTime, price, SCHEMA_NAMES, site, words } from '../answers.ts';
import { defineQueued, oneSource } from '../define.ts';
import { mayLackFields } from '../params/answer-form.ts';
import { DOMAIN_NAMES, type Domain, domain, SITES } from '../params/domain.ts';
import { optionalAsin } from '../params/lists.ts';
import { isRecord, request } from '../params/request.ts';
import { oneOf } from '../params/scalars.ts';
import { isoTimes, prices } from '../products/decode-product.ts';
import { toKeepaMinutes } from '../products/history.ts';
import { PROVIDER_LIGHTNING_DEAL_FIELDS } from '../products/provider-fields.ts';
import { columnsFrom, columnsOf } from '../tables/columns.ts';

export const DEAL_STATES = [
  'AVAILABLE',
  'UPCOMING',
  'WAITLIST',
  'SUSPENDED',
  'CANCELED',
  'EXPIRED',
  'SOLDOUT',
] as const;

type DealState = (typeof DEAL_STATES)[number];

/** A lightning deal as upstream sends it; times are index times in minutes. */
export interface LightningDeal {
  asin: string;
  dealState?: string;
  dealPrice?: number;
  startTime?: number;
  [field: string]: unknown;
}

/** The documented fields of a deal. */
const DEAL_COLUMNS = [
  'asin',
  'dealId',
  'dealState',
  'title',
  'dealPrice',
  'currentPrice',
  'percentOff',
  'percentClaimed',
  'startTime',
  'endTime',
  'isPrimeEligible',
  'isFulfilledByAmazon',
] as const;

const lightningDealRecord = z
  .looseObject({
    asin: words('ASIN'),
    dealId: words('Id of the deal').nullish(),
    dealState: words(`State: ${DEAL_STATES.join(', ')}`).nullish(),
    title: words('Title').nullish(),
    dealPrice: price('Price of the deal').nullish(),
    currentPrice: price('Current price').nullish(),
    percentOff: amount('Discount in percent').nullish(),
    percentClaimed: amount('Percentage claimed').nullish(),
    startTime: indexTime('Start').nullish(),
    endTime: indexTime('End').nullish(),
    isPrimeEligible: z.boolean().nullish(),
    isFulfilledByAmazon: z.boolean().nullish().describe('Whether the marketplace fulfils the order'),
  })
  .describe('A lightning deal')
  .register(SCHEMA_NAMES, { id: 'LightningDeal' });

const IN_CURRENCY = 'in the currency of the site';

const TABLE_COLUMNS = [
  ...columnsFrom({ asin: ['text', 'ASIN'], country: ['text', 'Site code, such as us'] }),
  ...columnsOf(lightningDealRecord, DEAL_COLUMNS.slice(1), {
    dealPrice: `Price of the deal, ${IN_CURRENCY}`,
    currentPrice: `Current price, ${IN_CURRENCY}`,
    percentOff: 'Discount in percent',
    percentClaimed: 'Percentage claimed',
    startTime: 'Start',
    endTime: 'End',
    isPrimeEligible: 'Whether the deal is for Prime members',
  }).map((column) => (/Time$/.test(column.name) ? { ...column, type: 'time' as const } : column)),
];

export const lightningDeal = defineQueued({
  name: 'market.lightningdeal',
  summary: "Lists a site's lightning deals, or the deal of one ASIN.",
  tool: 'market_get_lightning_deals',
  toolset: 'deals',
  routes: [{ method: 'GET', path: '/api/market/lightningdeal' }],
  params: request(
    { domain: DOMAIN_NAMES, asin: ['asin'] },
    {
      domain: domain(),
      asin: optionalAsin('One ASIN; default: all deals of the site'),
      state: oneOf(DEAL_STATES).optional().describe('Only deals in this state'),
      type: z.never({ error: 'must not be sent: the provider does not name the type of a deal' }).optional(),
    },
  ),
  price: { text: '1 with asin, 500 without it', quote: ({ asin }) => (asin ? 1 : 500) },
  pools: ['market', 'lightning'],
  queue: ({ asin }) => (asin ? 'market' : 'lightning'),
  isLarge: ({ asin }) => asin === undefined,
  // The full list is fetched and filtered here, because fetching each state separately would cost tokens each time.
  source: ({ domain, asin }) => oneSource(`lightningdeal/${domain}/${asin ?? 'all'}`, dealsIn),
  toolData(data, input) {
    const deals = data.lightningDeals as LightningDeal[];
    const isSelected = mayLackFields(input);
    const readable = deals.map((deal) => {
      const shown = isSelected ? deal : Object.fromEntries(DEAL_COLUMNS.map((name) => [name, deal[name]]));
      return readableDeal(shown, data.domainId as Domain);
    });
    return { ...data, lightningDeals: readable };
  },
  tables: {
    deals: {
      columns: () => TABLE_COLUMNS,
      *rows({ lightningDeals, country, domainId }) {
        for (const one of lightningDeals as LightningDeal[])
          yield { ...readableDeal(one, domainId as Domain), country };
      },
    },
  },
  respond: {
    type: 'json',
    records: { path: 'lightningDeals', providerFields: PROVIDER_LIGHTNING_DEAL_FIELDS },
    answer: z.object({ ...site(), lightningDeals: z.array(lightningDealRecord) }),
    present(found: ReadonlyMap<string, LightningDeal[]>, { domain, asin, state }, { now }) {
      const nowMinutes = toKeepaMinutes(now);
      const deals = (found.get('') ?? [])
        .map((deal) => inOurWords(deal, nowMinutes))
        .filter(
          (deal) =>
            (asin === undefined || deal.asin === asin) && (state === undefined || deal.dealState === state),
        );
      return { data: { country: SITES[domain], domainId: domain, lightningDeals: deals } };
    },
  },
});

/** Returns a deal in common units. */
function readableDeal(deal: Record<string, unknown>, domain: Domain): Record<string, unknown> {
  return {
    ...deal,
    ...prices(deal, ['dealPrice', 'currentPrice'], domain),
    ...isoTimes(deal, ['startTime', 'endTime', 'lastUpdate']),
  };
}

/** Returns the deals of an answer of the provider. */
export function dealsIn(answer: unknown): LightningDeal[] {
  const { lightningDeals } = (isRecord(answer) ? answer : {}) as { lightningDeals?: unknown };
  return Array.isArray(lightningDeals) ? lightningDeals.filter(isDeal) : [];
}

function isDeal(value: unknown): value is LightningDeal {
  return isRecord(value) && typeof value.asin === 'string';
}

/** Documented names of states that upstream names differently. */
const OUR_NAMES: Record<string, DealState> = {
  SUPPRESSED: 'SUSPENDED',
  CANCELLED: 'CANCELED',
  WAITLISTFULL: 'WAITLIST',
};

/**
 * Returns the deal with the documented name of its state, so that results agree with the filter. Upstream rarely sends
 * UPCOMING, so a deal that has not started and is not cancelled gets it.
 */
function inOurWords(deal: LightningDeal, nowMinutes: number): LightningDeal {
  const said = deal.dealState && (OUR_NAMES[deal.dealState] ?? deal.dealState);
  const notBegun = deal.startTime !== undefined && deal.startTime > nowMinutes;
  const dealState =
    notBegun && (said === 'AVAILABLE' || said === 'WAITLIST' || said === undefined) ? 'UPCOMING' : said;
  return dealState === undefined || dealState === deal.dealState ? deal : { ...deal, dealState };
}
