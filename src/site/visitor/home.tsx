import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { offeredPacks, offeredPlans } from '../../billing/payments/offers.ts';
import { PackCards, PlanCards } from '../customer/offer-cards.tsx';
import { assetUrl } from '../kit/assets.ts';
import { FirstCall } from '../kit/first-call.tsx';
import { createKeptPages } from '../kit/kept-pages.ts';
import { Page, VISITOR } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { CHART_FILES, TimeChart } from '../kit/time-chart.tsx';
import { baseUrlOf, type Pages } from '../pages.ts';
import { AgentConversation } from './agent-conversation.tsx';
import { SAMPLE_NAME, sampleHistory } from './sample-product.ts';

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
    'Weekly search-term ranks of nine marketplaces, with the three products that get the clicks.',
  ],
  ['Search trends', 'Interest over time and by region, related searches, and what people search for today.'],
  ['Batches and schedules', 'Up to 100,000 items at once, repeated when you choose, with webhooks and CSV.'],
] as const;

const DAY_MS = 86_400_000;

/** Registers the front page: what the data looks like, how to call it, and the plans. */
export function registerHome(scope: FastifyInstance, pages: Pages): void {
  const { database, currency, trials, clock, testMode } = pages;
  const sendKept = createKeptPages();
  scope.get('/', async (request, reply) => {
    const [plans, packs] = await Promise.all([offeredPlans(database), offeredPacks(database)]);
    const isSignedIn = request.session !== null;
    const to = (path: string) => (isSignedIn ? path : `/sign-up?to=${encodeURIComponent(path)}`);
    const hasTrial =
      (trials === 'open' || trials === 'confirmed by mail') &&
      plans.some(({ priceCents }) => priceCents === 0);
    const baseUrl = baseUrlOf(pages, request);
    const page = () => (
      <Page
        title="Marketplace data"
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
          <PlanCards plans={plans} currency={currency} to={to} />
          <h2>Packs of units</h2>
          <PackCards packs={packs} currency={currency} to={to} />
        </section>
      </Page>
    );
    if (isSignedIn) return sendPage(reply, page());
    const day = Math.floor(clock.now() / DAY_MS);
    const key = JSON.stringify([plans, packs, baseUrl, day]);
    return sendKept(reply, { key, viewer: VISITOR, page });
  });
}

function Hero({ isSignedIn, hasTrial }: { isSignedIn: boolean; hasTrial: boolean }): VNode {
  return (
    <section class="hero">
      <h1>Marketplace data for sellers, analysts and their agents</h1>
      <p class="lead">
        Prices, ranks, keywords and search trends through one HTTP interface, as tools for agents, or as pages
        to look at. Pay per unit, and know the price of each call before you make it.
      </p>
      <p class="row">
        <a class="button primary" href={isSignedIn ? '/account' : '/sign-up'}>
          {isSignedIn ? 'Go to your account' : hasTrial ? 'Start the free trial' : 'Create an account'}
        </a>
        <a class="button" href="/docs">
          Read the documentation
        </a>
      </p>
    </section>
  );
}

function OneCallAway({ hasTestKeys, baseUrl }: { hasTestKeys: boolean; baseUrl: string }): VNode {
  return (
    <section class="card" aria-labelledby="begin">
      <h2 id="begin">One call away</h2>
      <p>
        {hasTestKeys
          ? 'Create an account and a test key, and copy the key into your first call. Calls with a test key are free.'
          : 'Create an account, choose a plan, and copy your key into your first call. It costs one unit.'}
      </p>
      <FirstCall apiKey={hasTestKeys ? 'YOUR_TEST_KEY' : 'YOUR_KEY'} baseUrl={baseUrl} />
    </section>
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
          <p class="hint">An invented product, shown as the explorer shows real ones. Try the chart.</p>
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
