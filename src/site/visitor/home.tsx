import type { FastifyInstance } from 'fastify';
import { offeredPacks, offeredPlans } from '../../billing/payments/offers.ts';
import { PackCards, PlanCards } from '../customer/offer-cards.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import type { Pages } from '../pages.ts';

/** Registers the front page: the offer, its prices, and the steps to the first call. */
export function registerHome(scope: FastifyInstance, { database, currency, trials }: Pages): void {
  scope.get('/', async (request, reply) => {
    const [plans, packs] = await Promise.all([offeredPlans(database), offeredPacks(database)]);
    const isSignedIn = request.session !== null;
    const to = (path: string) => (isSignedIn ? path : `/sign-up?to=${encodeURIComponent(path)}`);
    return sendPage(
      reply,
      <Page title="Marketplace data">
        <section class="hero">
          <h1>Marketplace data for sellers, analysts and their agents</h1>
          <p class="lead">
            Products and their price histories, sellers, best sellers and deals of eleven marketplaces,
            keyword ranks of nine of them, and search trends, through one HTTP interface. Pay per unit.
            Identical calls within five minutes are free.
          </p>
          <p class="row">
            <a class="button primary" href={isSignedIn ? '/account' : '/sign-up'}>
              {isSignedIn ? 'Go to your account' : 'Create an account'}
            </a>
            <a class="button" href="/docs">
              Read the documentation
            </a>
          </p>
        </section>
        <section aria-labelledby="begin">
          <h2 id="begin">Get started</h2>
          <ol class="steps">
            <li>Create an account: an e-mail address and a password.</li>
            <li>
              Choose a plan{trials === 'open' ? '. The trial is free' : ', or ask the operator for a trial'}.
              You receive your API key with the first purchase.
            </li>
            <li>
              Make a call:{' '}
              <code>curl -H "X-API-Key: YOUR_KEY" ".../api/market/product?country=us&asins=B08N5WRWNX"</code>,
              or use the page “Try it”.
            </li>
          </ol>
        </section>
        <section aria-labelledby="plans">
          <h2 id="plans">Plans</h2>
          <PlanCards plans={plans} currency={currency} to={to} />
          <h2>Packs of units</h2>
          <PackCards packs={packs} currency={currency} to={to} />
        </section>
      </Page>,
    );
  });
}
