import type { FastifyInstance } from 'fastify';
import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { DAY_MS } from '../../platform/durations.ts';
import { FirstCall } from '../customer/first-key.tsx';
import { OfferCards } from '../customer/plans.tsx';
import { assetUrl } from '../kit/assets.ts';
import { ButtonLink, Card, PrimaryLink } from '../kit/elements.tsx';
import { Page } from '../kit/layout.tsx';
import { createKeptPages, sendPage } from '../kit/render.tsx';
import { CHART_FILES, type ChartSeries, TimeChart } from '../kit/time-chart.tsx';
import { VISITOR } from '../kit/viewer.ts';
import { count, money } from '../kit/words.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { offersFor } from './pricing.tsx';

const RANGES = [
  [30, 'Month'],
  [90, '3 months'],
  [365, 'Year'],
] as const;

const FEATURES = [
  [
    'Products and prices',
    'Price, rank and rating histories, offers, variations, best sellers, deals and storefronts of eleven marketplaces.',
  ],
  [
    'Keyword ranks',
    'Weekly search-term ranks of nine marketplaces, with the three most-clicked products of each term.',
  ],
  [
    'Search trends',
    'Interest over time and by region, related searches, and the trending searches of a day.',
  ],
  [
    'Batches and schedules',
    'Up to 100,000 items in one request, once or on a schedule, with webhooks and CSV.',
  ],
] as const;

/** Registers the front page: what the data looks like, how to call it, and the plans. */
export function registerHome(scope: FastifyInstance, pages: Pages): void {
  const { trials, clock, testMode } = pages;
  const sendKept = createKeptPages();
  scope.get('/', async (request, reply) => {
    const { plans, packs, ...shared } = await offersFor(pages, request);
    const isSignedIn = request.session !== null;
    const hasTrial =
      (trials === 'open' || trials === 'confirmed by mail') &&
      plans.some(({ priceCents }) => priceCents === 0);
    const baseUrl = baseUrlOf(pages, request);
    const page = () => (
      <Page
        title="Marketplace data"
        heading={null}
        styles={['account.css', ...CHART_FILES.styles, 'home.css']}
        libraries={CHART_FILES.libraries}
        scripts={CHART_FILES.scripts}
      >
        <Hero isSignedIn={isSignedIn} hasTrial={hasTrial} />
        <section
          class="card sample"
          aria-labelledby="sample"
          dangerouslySetInnerHTML={{ __html: sampleOf(clock.now()) }}
        />
        <Features />
        <div class="split">
          <AgentConversation now={clock.now()} />
          <OneCallAway hasTestKeys={testMode !== null} baseUrl={baseUrl} />
        </div>
        <section aria-labelledby="plans">
          <h2 id="plans">Plans</h2>
          <OfferCards kind="plan" offers={plans} {...shared} />
          <h2>Packs of units</h2>
          <OfferCards kind="pack" offers={packs} {...shared} />
        </section>
      </Page>
    );
    if (isSignedIn) return sendPage(reply, page());
    const day = Math.floor(clock.now() / DAY_MS);
    const key = JSON.stringify([plans, packs, shared.discounts, baseUrl, day]);
    return sendKept(reply, { key, viewer: VISITOR, page });
  });
}

function Hero({ isSignedIn, hasTrial }: { isSignedIn: boolean; hasTrial: boolean }): VNode {
  return (
    <section class="hero">
      <h1>Marketplace data for sellers, analysts and their agents</h1>
      <p class="lead">
        Prices, ranks, keywords and search trends through one HTTP interface, as tools for agents, or on
        pages. Pay per unit, and know the price of each call before you make it.
      </p>
      <p class="row">
        <PrimaryLink to={isSignedIn ? '/account' : '/sign-up'}>
          {isSignedIn ? 'Go to your account' : hasTrial ? 'Start the free trial' : 'Create an account'}
        </PrimaryLink>
        <ButtonLink to="/docs">Read the documentation</ButtonLink>
      </p>
    </section>
  );
}

function OneCallAway({ hasTestKeys, baseUrl }: { hasTestKeys: boolean; baseUrl: string }): VNode {
  return (
    <Card id="begin" title="Your first call">
      <p>
        {hasTestKeys
          ? 'Create an account and a test key, and copy the key into your first call. Calls with a test key are free.'
          : 'Create an account, choose a plan, and copy your key into your first call. It costs one unit.'}
      </p>
      <FirstCall apiKey={hasTestKeys ? 'YOUR_TEST_KEY' : 'YOUR_KEY'} baseUrl={baseUrl} />
    </Card>
  );
}

/** The sample of a day: it takes longer to render than the rest of the page, which anybody may load. */
let rendered = { day: Number.NaN, html: '' };

function sampleOf(now: number): string {
  const day = Math.floor(now / DAY_MS);
  if (day !== rendered.day) rendered = { day, html: renderToString(<SampleProduct now={now} />) };
  return rendered.html;
}

/** A product as the explorer shows it. */
function SampleProduct({ now }: { now: number }): VNode {
  return (
    <>
      <div class="row">
        <img class="product" src={assetUrl('sample-product.svg')} alt="" width={72} height={72} />
        <div>
          <h2 id="sample">{SAMPLE_NAME}</h2>
          <p class="hint">An invented product. The explorer shows real products with the same chart.</p>
        </div>
      </div>
      <TimeChart name="Prices and rank" series={sampleHistory(now)} isStepped ranges={RANGES} rows="months" />
    </>
  );
}

function Features(): VNode {
  return (
    <div class="grid features">
      {FEATURES.map(([title, text]) => (
        <section key={title}>
          <h2>{title}</h2>
          <p>{text}</p>
        </section>
      ))}
    </div>
  );
}

/** A conversation with an agent that uses Souk as tools, about the product of the front page. */
function AgentConversation({ now }: { now: number }): VNode {
  const { price, lowest, rank, usualRank } = sampleFacts(now);
  const dollars = (amount: number) => money(Math.round(amount * 100), 'usd');
  const isCheap = price <= lowest * 1.1;
  const isRising = rank < usualRank;
  return (
    <Card id="agents" title="Or let your agent ask">
      <ol class="conversation">
        <Turn by="You">Is this a good price for these headphones, and how well do they sell?</Turn>
        <li class="call">
          <code>market_get_product</code> <small>1 unit</small>
        </li>
        <Turn by="Agent">
          {isCheap ? 'Yes. ' : 'Not yet. '}
          They cost {dollars(price)} now; the lowest price of the last year was {dollars(lowest)}. The sales
          rank is {count(rank)}, {isRising ? 'better' : 'worse'} than its average of {count(usualRank)} over
          three months.
        </Turn>
      </ol>
      <p class="hint">
        Souk is an MCP server: <a href="/docs/tools-for-agents">connect your agent</a>. It can check the price
        of a call before it makes the call.
      </p>
    </Card>
  );
}

function Turn({ by, children }: { by: string; children: ComponentChildren }): VNode {
  return (
    <li class={by === 'You' ? 'mine' : undefined}>
      <strong>{by}</strong>
      <p>{children}</p>
    </li>
  );
}

const DAYS = 540;
const LIST_PRICE = 179.99;

/** The name of the product on the front page. It does not exist. */
const SAMPLE_NAME = 'Lumio Wireless Headphones, Blue';

/** The history of an invented product until a time, which needs no provider and costs no unit: each day has always the same values. */
function sampleHistory(now: number): ChartSeries[] {
  const today = Math.floor(now / DAY_MS);
  const days = Array.from({ length: DAYS }, (_, i) => today - DAYS + 1 + i);
  const series = (valueOn: (day: number) => number | null) => {
    const points = days.map((day): [number, number | null] => [day * DAY_MS, valueOn(day)]);
    // A price holds until it changes, so only changes are points.
    return points.filter(([, value], i) => i === 0 || i === DAYS - 1 || value !== points[i - 1]?.[1]);
  };
  const price = { scale: 'price', format: { style: 'currency', currency: 'USD' } } as const;
  return [
    { name: 'Buy Box', ...price, points: series(buyBoxOn), shown: true },
    { name: 'List price', ...price, points: series(() => LIST_PRICE), shown: true },
    { name: 'Sales rank', scale: 'rank', points: series(rankOn), shown: true },
    {
      name: 'Rating',
      scale: 'stars',
      format: { minimumFractionDigits: 1 },
      points: series(ratingOn),
      shown: false,
    },
  ];
}

/** What an agent says about the product on a day. */
function sampleFacts(now: number): { price: number; lowest: number; rank: number; usualRank: number } {
  const today = Math.floor(now / DAY_MS);
  const last = (days: number, valueOn: (day: number) => number) =>
    Array.from({ length: days }, (_, i) => valueOn(today - i));
  const ranks = last(90, rankOn);
  return {
    price: buyBoxOn(today),
    lowest: Math.min(...last(365, buyBoxOn)),
    rank: rankOn(today),
    usualRank: Math.round(ranks.reduce((sum, rank) => sum + rank, 0) / ranks.length),
  };
}

/** The price changes about weekly, and falls for a few days every month. */
function buyBoxOn(day: number): number {
  const week = Math.floor(day / 6);
  const offer = day % 34 < 4 ? 0.8 : 1;
  const season = 1 + 0.06 * Math.cos((2 * Math.PI * day) / 365);
  return Math.round(149 * season * offer * (0.95 + 0.1 * noise(week))) - 0.01;
}

/** Lower prices sell more, so the rank is better. */
function rankOn(day: number): number {
  const effect = (buyBoxOn(day) / 149) ** 3;
  const season = 1 - 0.35 * Math.cos((2 * Math.PI * (day + 20)) / 365);
  return Math.round(900 * effect * season * (0.85 + 0.2 * noise(Math.floor(day / 9)) + 0.1 * noise(day)));
}

function ratingOn(day: number): number {
  return 4.4 + Math.round(2 * noise(Math.floor(day / 60))) / 10;
}

/** A number from 0 to 1, always the same for the same number. */
function noise(n: number): number {
  const value = Math.sin(n * 12.9898) * 43_758.5453;
  return value - Math.floor(value);
}
