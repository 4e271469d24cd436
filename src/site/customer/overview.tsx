import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { isKeyDue } from '../../accounts/account-keys.ts';
import { isTestAccount } from '../../accounts/authentication.ts';
import { subscriptionTimes } from '../../billing/grants.ts';
import type { Bucket, PacksSnapshot, QuotaSnapshot, SubscriptionSnapshot } from '../../billing/quota.ts';
import { Card, Notice, PrimaryLink, SmallLink } from '../kit/elements.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { count, hoursText, Time, WALLET_NAMES } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { apiData } from './customer-api.ts';
import { ShowFirstKey } from './first-key.tsx';
import { trialFor, WaitingPlans, Welcome } from './plans.tsx';
import { confirmBanner } from './profile.tsx';

const WALLETS = ['general', 'off_peak'] as const;

/** A test account has one plan, which never ends, and buys nothing. */
const TEST_WALLETS = ['general'] as const;

/** Registers the overview: the quota, and what pays for the next call. */
export function registerOverview(scope: FastifyInstance, pages: Pages): void {
  scope.get('/account', async (request, reply) => {
    const { accountId, name } = customerOf(request);
    const isTest = isTestAccount(accountId);
    const now = pages.clock.now();
    const [quota, plans, isDue, banner] = await Promise.all([
      apiData<QuotaSnapshot>(request, 'GET', '/api/quota'),
      subscriptionTimes(pages.database, accountId, now),
      isKeyDue(pages.database, accountId),
      confirmBanner(pages, request),
    ]);
    const hasNothing = quota.nextCallRejectReason === 'QUOTA_NO_SUBSCRIPTION';
    const trial = hasNothing ? await trialFor(pages, accountId) : null;
    return sendPage(
      reply,
      <Page title="Overview" heading={<>Hello, {name}</>}>
        {banner}
        {isDue && (
          <section class="notice good">
            <h2>Your API key is ready</h2>
            <ShowFirstKey />
          </section>
        )}
        {trial && <Welcome trial={trial} />}
        <div id="quota" data-refresh="15">
          {!trial && <NextCall quota={quota} />}
          {quota.keyWarning && <Notice tone="warn">{quota.keyWarning}</Notice>}
          <div class="grid">
            {(isTest ? TEST_WALLETS : WALLETS).map((wallet) => {
              const snapshot = quota[wallet];
              return (
                <section class="card" key={wallet} aria-labelledby={`wallet-${wallet}`}>
                  <h2 id={`wallet-${wallet}`}>{WALLET_NAMES[wallet]}</h2>
                  {snapshot.subscribed ? (
                    <Subscription snapshot={snapshot} isTest={isTest} />
                  ) : (
                    <NoPlan wallet={wallet} />
                  )}
                  <WaitingPlans plans={plans} wallet={wallet} now={now} />
                </section>
              );
            })}
            {!isTest && <Packs packs={quota.packs} />}
          </div>
          <p class="hint">
            Off-peak hours are {hoursText(quota.offPeakWindow)} and are {quota.offPeakActive ? '' : 'not '}
            active now. Last updated: <Time at={quota.serverTime} />.
          </p>
        </div>
      </Page>,
    );
  });
}

function NextCall({ quota }: { quota: QuotaSnapshot }): VNode {
  const { activeBilling, activeBillingTrack, nextCallRejectMessage, nextCallRejectReason } = quota;
  if (nextCallRejectReason === 'QUOTA_NO_SUBSCRIPTION') {
    return (
      <div class="notice warn row">
        <p>
          <strong>Choose a plan to make calls.</strong> You have no plan and no pack.
        </p>
        <PrimaryLink to="/account/plans">Plans and packs</PrimaryLink>
      </div>
    );
  }
  if (activeBilling === null) {
    return (
      <div class="notice bad">
        <p>
          <strong>You cannot make calls now.</strong> {nextCallRejectMessage}{' '}
          <code>{nextCallRejectReason}</code>
        </p>
        <p>
          <a href="/account/plans">Plans and packs</a>
        </p>
      </div>
    );
  }
  return (
    <Notice tone="good">
      <strong>Ready.</strong> Your next call uses the units of{' '}
      {activeBillingTrack === 'pack' ? 'a pack' : 'your plan'}
      {activeBilling === 'off_peak' ? ' for off-peak hours' : ''}.
    </Notice>
  );
}

function Subscription({ snapshot, isTest }: { snapshot: SubscriptionSnapshot; isTest: boolean }): VNode {
  const { plan, quantity, subscriptionEnd, minute, daily, monthly, resetAt } = snapshot;
  return (
    <>
      <p>
        <strong>{plan.name}</strong>
        {quantity > 1 && ` × ${quantity}`}
        {!isTest && (
          <>
            , valid until <Time at={subscriptionEnd} />
          </>
        )}
      </p>
      <Meter name="Calls this minute" bucket={minute} resetAt={resetAt.minute} />
      <Meter name="Units today" bucket={daily} resetAt={resetAt.daily} />
      <Meter name="Units this month" bucket={monthly} resetAt={resetAt.monthly} />
    </>
  );
}

function Meter({ name, bucket, resetAt }: { name: string; bucket: Bucket; resetAt: string }): VNode {
  const { limit, used } = bucket;
  return (
    <div class="meter">
      <div class="row">
        <span>{name}</span>
        <span class="push number">
          {count(used)} of {count(limit)}
        </span>
      </div>
      {limit !== null && (
        <meter
          min={0}
          max={limit}
          low={limit * 0.8}
          high={limit * 0.95}
          optimum={0}
          value={Math.min(used, limit)}
          aria-label={`${name}: ${count(used)} of ${count(limit)} used`}
        />
      )}
      <small>
        Resets at <Time at={resetAt} />
      </small>
    </div>
  );
}

function NoPlan({ wallet }: { wallet: 'general' | 'off_peak' }): VNode {
  return (
    <>
      <p class="muted">No plan{wallet === 'off_peak' && ' for off-peak hours'}.</p>
      <p>
        <SmallLink to="/account/plans">Choose a plan</SmallLink>
      </p>
    </>
  );
}

function Packs({ packs }: { packs: PacksSnapshot }): VNode {
  return (
    <Card id="packs" title="Packs">
      {packs.items.length === 0 && <p class="muted">No packs.</p>}
      {packs.items.map(({ id, planType, totalUnits, remainingUnits, validUntil, window, inWindow }) => (
        <div class="meter" key={id}>
          <div class="row">
            <span>
              {WALLET_NAMES[planType]} pack {id}{' '}
              {inWindow === false && <span class="tag">not available now</span>}
            </span>
            <span class="push number">
              {count(remainingUnits)} of {count(totalUnits)} left
            </span>
          </div>
          <meter
            min={0}
            max={totalUnits}
            low={totalUnits * 0.05}
            high={totalUnits * 0.2}
            optimum={totalUnits}
            value={remainingUnits}
            aria-label={`Pack ${id}: ${count(remainingUnits)} of ${count(totalUnits)} units left`}
          />
          <small>
            {window && `Usable daily ${hoursText(window)}. `}
            Valid until <Time at={validUntil} />
          </small>
        </div>
      ))}
      <p>
        <SmallLink to="/account/plans">Buy a pack</SmallLink>
      </p>
    </Card>
  );
}
