import type { FastifyInstance } from 'fastify';
import type { VNode } from 'preact';
import { isKeyDue } from '../../accounts/account-keys.ts';
import { isTestAccount } from '../../accounts/authentication.ts';
import { subscriptionTimes } from '../../billing/grants.ts';
import type { PlanOffer } from '../../billing/payments/offers.ts';
import type { Bucket, PacksSnapshot, QuotaSnapshot, SubscriptionSnapshot } from '../../billing/quota.ts';
import { ButtonLink, Card, Notice, PrimaryLink, SmallLink } from '../kit/elements.tsx';
import { PostButton } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { count, Hours, Time, WALLET_NAMES } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { customerOf } from '../session.ts';
import { apiData } from './customer-api.ts';
import { ShowFirstKey } from './first-key.tsx';
import { TEST_DATA_PATH } from './keys.tsx';
import { StartTrial, trialFor, WaitingPlans } from './plans.tsx';
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
    const isNew = hasNothing && !isTest;
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
        {isNew && <FirstSteps trial={trial} hasTestData={pages.testMode !== null} />}
        <div id="quota" data-refresh="15">
          {!isNew && <NextCall quota={quota} />}
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
            Off-peak hours are <Hours {...quota.offPeakWindow} /> and are {quota.offPeakActive ? '' : 'not '}
            active now. Last updated: <Time at={quota.serverTime} />.
          </p>
        </div>
      </Page>,
    );
  });
}

/** What an account without units does first. Each step is done where it is shown. */
function FirstSteps({ trial, hasTestData }: { trial: PlanOffer | null; hasTestData: boolean }): VNode {
  return (
    <section class="card" aria-labelledby="first-steps">
      <h2 id="first-steps">First steps</h2>
      <ol class="steps">
        {hasTestData && (
          <li>
            <h3>See a product, free of charge</h3>
            <p>Test data has the form of real data, and every page works with it.</p>
            <PostButton action={TEST_DATA_PATH} class={trial ? undefined : 'primary'}>
              Show a product with test data
            </PostButton>
          </li>
        )}
        <li>
          <h3>Connect a program</h3>
          <p>
            Copy a key into your own program, or give an agent the address of this service. The agent then
            opens a page on which you allow it to use your account.
          </p>
          <div class="row">
            {hasTestData && <PostButton action="/account/test-key">Create a free test key</PostButton>}
            <ButtonLink to="/docs/tools-for-agents">Connect an agent</ButtonLink>
          </div>
        </li>
        <li>
          <h3>Choose a plan</h3>
          {trial ? (
            <StartTrial trial={trial} />
          ) : (
            <PrimaryLink to="/account/plans">Plans and packs</PrimaryLink>
          )}
        </li>
      </ol>
    </section>
  );
}

function NextCall({ quota }: { quota: QuotaSnapshot }): VNode {
  const { activeBilling, activeBillingTrack, nextCallRejectMessage, nextCallRejectReason } = quota;
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
            {window && (
              <>
                Usable daily <Hours {...window} />.{' '}
              </>
            )}
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
