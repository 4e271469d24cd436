import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import {
  type KeptPack,
  type KeptPlan,
  keptPacks,
  keptPlans,
  savePack,
  savePlan,
} from '../../billing/payments/change-offers.ts';
import { wallet, wholeNumber } from '../../operator/fields.ts';
import { SoukError } from '../../platform/errors.ts';
import { type FormFaults, type FormValues, readForm } from '../kit/form.tsx';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.ts';
import { count, money, WALLET_NAMES } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { viewerOf } from '../session.ts';
import { DataTable } from './data-table.tsx';
import { OfferForm, valuesOfPack, valuesOfPlan } from './offer-form.tsx';

const MOST_CENTS = 100_000_000;

const code = z.string().regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'must be small letters, digits and -');
const name = z
  .string()
  .trim()
  .min(1, 'is missing')
  .max(60, 'must have at most 60 characters')
  .regex(/^\P{C}*$/u, 'must not have control characters');
const price = z
  .string()
  .trim()
  .regex(/^\d{1,7}(?:\.\d{1,2})?$/, 'must be an amount such as 29 or 29.50')
  .transform((text) => Math.round(Number(text) * 100))
  .pipe(z.number().max(MOST_CENTS, 'is too much'));
const ticked = z
  .string()
  .optional()
  .transform((value) => value === '1');

/** Nothing filled in: no limit, or no price. */
const orNothing = <Output,>(field: z.ZodType<Output, string>) =>
  z.union([z.literal('').transform(() => null), field]);

const planForm = z.object({
  code,
  name,
  minuteLimit: orNothing(wholeNumber(1, 1_000_000)),
  dailyLimit: orNothing(wholeNumber(1, 1_000_000_000_000)),
  monthlyLimit: orNothing(wholeNumber(1, 1_000_000_000_000)),
  price: orNothing(price),
  isOffered: ticked,
});

const packForm = z.object({
  code,
  name,
  wallet,
  units: wholeNumber(1, 1_000_000_000_000),
  rateLimitPerMinute: wholeNumber(1, 1_000_000),
  validDays: wholeNumber(1, 3_650),
  price,
  isOffered: ticked,
});

/** What is for sale, at which price. */
export function registerOffers(scope: FastifyInstance, { gateway, currency }: Pages): void {
  const { database, clock } = gateway;

  scope.get('/admin/offers', async (request, reply) => {
    const [plans, packs] = await Promise.all([keptPlans(database, clock.now()), keptPacks(database)]);
    return sendPage(
      reply,
      <Page title="Plans and packs" viewer={viewerOf(request, reply)} path="/admin/offers" wide>
        <h1>Plans and packs</h1>
        <p class="lead">
          A change is for what is sold from now on; what was sold or ordered stays as it was.
        </p>
        <h2>Plans</h2>
        <PlanTable plans={plans} currency={currency} />
        <p>
          <a class="button" href="/admin/offers/plan">
            New plan
          </a>
        </p>
        <h2>Packs</h2>
        <PackTable packs={packs} currency={currency} />
        <p>
          <a class="button" href="/admin/offers/pack">
            New pack
          </a>
        </p>
      </Page>,
    );
  });

  scope.get<{ Querystring: { code?: unknown } }>('/admin/offers/plan', async (request, reply) => {
    const { code } = request.query;
    const plan = (await keptPlans(database, clock.now())).find((one) => one.code === code);
    if (code !== undefined && !plan) throw new SoukError('NOT_FOUND', { message: 'There is no such plan.' });
    return sendForm(request, reply, 'plan', plan === undefined, plan ? valuesOfPlan(plan) : {}, {});
  });

  scope.get<{ Querystring: { code?: unknown } }>('/admin/offers/pack', async (request, reply) => {
    const { code } = request.query;
    const pack = (await keptPacks(database)).find((one) => one.code === code);
    if (code !== undefined && !pack) throw new SoukError('NOT_FOUND', { message: 'There is no such pack.' });
    return sendForm(request, reply, 'pack', pack === undefined, pack ? valuesOfPack(pack) : {}, {});
  });

  scope.post('/admin/offers/plan', async (request, reply) => {
    const form = readForm(planForm, request.body);
    const isNew = form.values.isNew === '1';
    if (!form.ok) return sendForm(request, reply, 'plan', isNew, form.values, form.faults, 400);
    const { price: priceCents, ...plan } = form.input;
    if (await savePlan(database, { ...plan, priceCents }, { isNew, now: clock.now() }))
      return reply.redirect('/admin/offers', 303);
    return sendForm(request, reply, 'plan', isNew, form.values, TAKEN, 409);
  });

  scope.post('/admin/offers/pack', async (request, reply) => {
    const form = readForm(packForm, request.body);
    const isNew = form.values.isNew === '1';
    if (!form.ok) return sendForm(request, reply, 'pack', isNew, form.values, form.faults, 400);
    const { price: priceCents, ...pack } = form.input;
    if (await savePack(database, { ...pack, priceCents }, isNew)) return reply.redirect('/admin/offers', 303);
    return sendForm(request, reply, 'pack', isNew, form.values, TAKEN, 409);
  });

  function sendForm(
    request: FastifyRequest,
    reply: FastifyReply,
    kind: 'plan' | 'pack',
    isNew: boolean,
    values: FormValues,
    faults: FormFaults,
    status = 200,
  ): FastifyReply {
    const title = `${isNew ? 'New' : 'Change'} ${kind}`;
    return sendPage(
      reply,
      <Page title={title} viewer={viewerOf(request, reply)} path="/admin/offers">
        <h1>{title}</h1>
        <OfferForm {...{ kind, isNew, values, faults, currency }} csrf={reply.generateCsrf()} />
      </Page>,
      status,
    );
  }
}

const TAKEN: FormFaults = { code: 'is the code of another already' };

function PlanTable({ plans, currency }: { plans: readonly KeptPlan[]; currency: string }): VNode {
  return (
    <DataTable
      label="Plans"
      empty="There are no plans."
      columns={[
        'Plan',
        'Code',
        '#Calls a minute',
        '#Units a day',
        '#Units a month',
        '#Price a month',
        '#Running',
        'Sold',
      ]}
      rows={plans.map((plan) => [
        <a href={`/admin/offers/plan?code=${encodeURIComponent(plan.code)}`}>{plan.name}</a>,
        <code>{plan.code}</code>,
        count(plan.minuteLimit),
        count(plan.dailyLimit),
        count(plan.monthlyLimit),
        plan.priceCents === null ? '-' : money(plan.priceCents, currency),
        count(plan.running),
        <OfferTag isOffered={plan.isOffered} isPriced={plan.priceCents !== null} />,
      ])}
    />
  );
}

function PackTable({ packs, currency }: { packs: readonly KeptPack[]; currency: string }): VNode {
  return (
    <DataTable
      label="Packs"
      empty="There are no packs."
      columns={['Pack', 'Code', 'Wallet', '#Units', '#Calls a minute', '#Valid, days', '#Price', 'Sold']}
      rows={packs.map((pack) => [
        <a href={`/admin/offers/pack?code=${encodeURIComponent(pack.code)}`}>{pack.name}</a>,
        <code>{pack.code}</code>,
        WALLET_NAMES[pack.wallet],
        count(pack.units),
        count(pack.rateLimitPerMinute),
        count(pack.validDays),
        money(pack.priceCents, currency),
        <OfferTag isOffered={pack.isOffered} isPriced />,
      ])}
    />
  );
}

function OfferTag({ isOffered, isPriced }: { isOffered: boolean; isPriced: boolean }): VNode {
  if (!isPriced) return <span class="tag">given only</span>;
  return <span class={isOffered ? 'tag good' : 'tag'}>{isOffered ? 'for sale' : 'withdrawn'}</span>;
}
