import type { FastifyInstance, FastifyReply } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import {
  listAllPacks,
  listAllPlans,
  type OperatorPack,
  type OperatorPlan,
} from '../../billing/payments/change-offers.ts';
import { windowText } from '../../billing/wallets.ts';
import { saleActs } from '../../operator/acts/sale-acts.ts';
import type { Operating } from '../../operator/audit/audit-log.ts';
import {
  ownWindow,
  requireOffPeak,
  WINDOW_WITHOUT_WALLET,
  wallet,
  wholeNumber,
} from '../../operator/fields.ts';
import { SoukError } from '../../platform/errors.ts';
import { FormRefused, type FormState, type FormValues, onSubmit } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { addressOf } from '../kit/paging.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { Tag } from '../kit/tag.tsx';
import { count, money, WALLET_NAMES } from '../kit/words.tsx';
import { operatingOf, type Pages } from '../pages.ts';
import { OfferForm, valuesOfPack, valuesOfPlan } from './offer-form.tsx';

const PATH = '/admin/offers';

const MAX_CENTS = 100_000_000;

const code = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,39}$/, 'must consist of lower-case letters, digits and hyphens');
const name = z
  .string()
  .trim()
  .min(1, 'is required')
  .max(60, 'must have at most 60 characters')
  .regex(/^\P{C}*$/u, 'must not have control characters');
const price = z
  .string()
  .trim()
  .regex(/^\d{1,7}(?:\.\d{1,2})?$/, 'must be an amount such as 29 or 29.50')
  .transform((text) => Math.round(Number(text) * 100))
  .pipe(z.number().max(MAX_CENTS, `must be at most ${MAX_CENTS / 100}`));
const ticked = z
  .string()
  .optional()
  .transform((value) => value === '1');

/** Reads an empty field as null: no limit, or no price. */
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
  renews: ticked,
});

const packForm = z
  .object({
    code,
    name,
    wallet,
    units: wholeNumber(1, 1_000_000_000_000),
    rateLimitPerMinute: wholeNumber(1, 1_000_000),
    validDays: wholeNumber(1, 3_650),
    window: ownWindow,
    price,
    isOffered: ticked,
  })
  .refine(requireOffPeak, WINDOW_WITHOUT_WALLET);

/** Registers the pages that create and change the plans and packs for sale. */
export function registerOffers(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, currency } = pages;

  scope.get(PATH, async (_request, reply) => {
    const [plans, packs] = await Promise.all([listAllPlans(database, clock.now()), listAllPacks(database)]);
    return sendPage(
      reply,
      <Page title="Plans and packs" wide>
        <h1>Plans and packs</h1>
        <p class="lead">Changes apply to future purchases only.</p>
        <h2>Plans</h2>
        <PlanTable plans={plans} currency={currency} />
        <p>
          <a class="button" href={`${PATH}/plan`}>
            New plan
          </a>
        </p>
        <h2>Packs</h2>
        <PackTable packs={packs} currency={currency} />
        <p>
          <a class="button" href={`${PATH}/pack`}>
            New pack
          </a>
        </p>
      </Page>,
    );
  });
  registerOfferForm(scope, pages, {
    kind: 'plan',
    schema: planForm,
    async find(code) {
      const plan = (await listAllPlans(database, clock.now())).find((one) => one.code === code);
      return plan && valuesOfPlan(plan);
    },
    save: (by, { price, ...plan }, isNew) => saleActs.savePlan(by, { ...plan, priceCents: price }, isNew),
  });
  registerOfferForm(scope, pages, {
    kind: 'pack',
    schema: packForm,
    async find(code) {
      const pack = (await listAllPacks(database)).find((one) => one.code === code);
      return pack && valuesOfPack(pack);
    },
    save: (by, { price, ...pack }, isNew) => saleActs.savePack(by, { ...pack, priceCents: price }, isNew),
  });
}

interface OfferKind<Input> {
  kind: 'plan' | 'pack';
  schema: z.ZodType<Input>;
  find(code: string): Promise<FormValues | undefined>;
  /** @returns false if another offer has this code. */
  save(by: Operating, input: Input, isNew: boolean): Promise<boolean>;
}

/** Registers the form of a plan or a pack: a new one, or the one with the code in the address. */
function registerOfferForm<Input>(
  scope: FastifyInstance,
  pages: Pages,
  { kind, schema, find, save }: OfferKind<Input>,
): void {
  scope.get<{ Querystring: { code?: string } }>(`${PATH}/${kind}`, async (request, reply) => {
    const { code } = request.query;
    if (code === undefined) return showForm(reply, { values: { isNew: '1' }, faults: {} });
    const values = await find(code);
    if (!values) throw new SoukError('NOT_FOUND', { message: `This ${kind} does not exist.` });
    return showForm(reply, { values, faults: {} });
  });

  scope.post(
    `${PATH}/${kind}`,
    onSubmit(schema, showForm, async (input, request, _reply, values) => {
      if (await save(operatingOf(pages, request), input, values.isNew === '1')) return PATH;
      throw new FormRefused(409, { code: `is already the code of another ${kind}` });
    }),
  );

  function showForm(reply: FastifyReply, form: FormState, status?: number): FastifyReply {
    const title = `${form.values.isNew === '1' ? 'New' : 'Edit'} ${kind}`;
    return sendPage(
      reply,
      <Page title={title}>
        <h1>{title}</h1>
        <OfferForm kind={kind} form={form} currency={pages.currency} />
      </Page>,
      status,
    );
  }
}

function PlanTable({ plans, currency }: { plans: readonly OperatorPlan[]; currency: string }): VNode {
  return (
    <Table
      name="Plans"
      empty="No plans yet."
      rows={plans}
      columns={[
        ['Plan', ({ code, name }) => <a href={addressOf(`${PATH}/plan`, { code })}>{name}</a>],
        ['Code', ({ code }) => <code>{code}</code>],
        ['Calls per minute', ({ minuteLimit }) => count(minuteLimit), 'number'],
        ['Units per day', ({ dailyLimit }) => count(dailyLimit), 'number'],
        ['Units per month', ({ monthlyLimit }) => count(monthlyLimit), 'number'],
        [
          'Price per month',
          ({ priceCents }) => (priceCents === null ? '-' : money(priceCents, currency)),
          'number',
        ],
        ['Renews', ({ renews }) => (renews ? 'each month' : '-')],
        ['Active subscriptions', ({ running }) => count(running), 'number'],
        [
          'Availability',
          ({ isOffered, priceCents }) => <OfferTag isOffered={isOffered} isPriced={priceCents !== null} />,
        ],
      ]}
    />
  );
}

function PackTable({ packs, currency }: { packs: readonly OperatorPack[]; currency: string }): VNode {
  return (
    <Table
      name="Packs"
      empty="No packs yet."
      rows={packs}
      columns={[
        ['Pack', ({ code, name }) => <a href={addressOf(`${PATH}/pack`, { code })}>{name}</a>],
        ['Code', ({ code }) => <code>{code}</code>],
        ['Wallet', ({ wallet }) => WALLET_NAMES[wallet]],
        ['Window', ({ window }) => (window ? windowText(window) : '-')],
        ['Units', ({ units }) => count(units), 'number'],
        ['Calls per minute', ({ rateLimitPerMinute }) => count(rateLimitPerMinute), 'number'],
        ['Valid for (days)', ({ validDays }) => count(validDays), 'number'],
        ['Price', ({ priceCents }) => money(priceCents, currency), 'number'],
        ['Availability', ({ isOffered }) => <OfferTag isOffered={isOffered} isPriced />],
      ]}
    />
  );
}

function OfferTag({ isOffered, isPriced }: { isOffered: boolean; isPriced: boolean }): VNode {
  if (!isPriced) return <Tag>grants only</Tag>;
  return isOffered ? <Tag tone="good">for sale</Tag> : <Tag>withdrawn</Tag>;
}
