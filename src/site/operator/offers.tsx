import type { FastifyInstance, FastifyReply } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import {
  listAllPacks,
  listAllPlans,
  type OperatorPack,
  type OperatorPlan,
} from '../../billing/payments/offers.ts';
import { windowText } from '../../billing/wallets.ts';
import { saleActs } from '../../operator/acts/sale-acts.ts';
import type { Operating } from '../../operator/audit.ts';
import {
  centsOf,
  ownWindow,
  requireOffPeak,
  WINDOW_WITHOUT_WALLET,
  wallet,
  wholeNumber,
} from '../../operator/fields.ts';
import { SoukError } from '../../platform/errors.ts';
import { ButtonLink, Card, Tag } from '../kit/elements.tsx';
import { Choice, Field, HiddenFields, PostForm, Submit } from '../kit/form.tsx';
import { FormRefused, type FormState, type FormValues, onSubmit } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { addressOf } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { count, money, WALLET_NAMES } from '../kit/words.tsx';
import { operatingOf, type Pages } from '../pages.ts';

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
const price = centsOf(MAX_CENTS);
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
        <p class="lead">
          Changes apply to future purchases only. <a href="/admin/coupons">Coupons and discounts</a> lower
          these prices for some time.
        </p>
        <h2>Plans</h2>
        <PlanTable plans={plans} currency={currency} />
        <p>
          <ButtonLink to={`${PATH}/plan`}>New plan</ButtonLink>
        </p>
        <h2>Packs</h2>
        <PackTable packs={packs} currency={currency} />
        <p>
          <ButtonLink to={`${PATH}/pack`}>New pack</ButtonLink>
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

type NumberField = readonly [name: string, label: string, hint?: string];

const PLAN_NUMBERS: readonly NumberField[] = [
  ['minuteLimit', 'Calls per minute', 'Empty: unlimited.'],
  ['dailyLimit', 'Units per day', 'Empty: unlimited.'],
  ['monthlyLimit', 'Units per month', 'Empty: unlimited.'],
];

const PACK_NUMBERS: readonly NumberField[] = [
  ['units', 'Units'],
  ['rateLimitPerMinute', 'Calls per minute'],
  ['validDays', 'Valid for (days)'],
];

/** The form that creates or changes a plan or a pack. */
function OfferForm(props: { kind: 'plan' | 'pack'; form: FormState; currency: string }): VNode {
  const { kind, form, currency } = props;
  const { code, name, isNew, isOffered } = form.values;
  const isPack = kind === 'pack';
  return (
    <Card>
      <PostForm action={`/admin/offers/${kind}`} form={form}>
        {isNew === '1' ? <NewCode /> : <PresentCode code={code} />}
        <Field name="name" label="Name" required maxLength={60} />
        {isPack && <Choice name="wallet" label="Wallet" options={Object.entries(WALLET_NAMES)} />}
        {(isPack ? PACK_NUMBERS : PLAN_NUMBERS).map(([column, label, hint]) => (
          <Field
            key={column}
            name={column}
            label={label}
            type="number"
            min={1}
            hint={hint}
            required={isPack}
          />
        ))}
        {isPack && <OwnWindow />}
        <Field
          name="price"
          label={`Price in ${currency.toUpperCase()}${isPack ? '' : ' per month'}`}
          required={isPack}
          hint={isPack ? undefined : 'Empty: the plan can only be granted, not bought.'}
        />
        <Tick name="isOffered" label="For sale" checked={name === undefined || isOffered === '1'} />
        {!isPack && (
          <Tick
            name="renews"
            label="Renews each month (Stripe only; other payment methods sell it for some months)"
            checked={form.values.renews === '1'}
          />
        )}
        <div class="row">
          <Submit>Save</Submit>
          <ButtonLink to="/admin/offers">Back</ButtonLink>
        </div>
      </PostForm>
    </Card>
  );
}

function Tick({ name, label, checked }: { name: string; label: string; checked: boolean }): VNode {
  return (
    <p>
      <label>
        <input type="checkbox" name={name} value="1" checked={checked} /> {label}
      </label>
    </p>
  );
}

function NewCode(): VNode {
  return (
    <>
      <HiddenFields fields={{ isNew: '1' }} />
      <Field
        name="code"
        label="Code"
        required
        maxLength={40}
        hint="Lower-case letters, digits and hyphens. It cannot be changed later."
      />
    </>
  );
}

function PresentCode({ code }: { code: string | undefined }): VNode {
  return (
    <>
      <HiddenFields fields={{ code }} />
      <p>
        <code>{code}</code>
      </p>
    </>
  );
}

function valuesOfPlan(plan: OperatorPlan): FormValues {
  const { code, name, priceCents, isOffered, renews } = plan;
  return {
    code,
    name,
    minuteLimit: textOf(plan.minuteLimit),
    dailyLimit: textOf(plan.dailyLimit),
    monthlyLimit: textOf(plan.monthlyLimit),
    price: priceCents === null ? '' : amountOf(priceCents),
    isOffered: isOffered ? '1' : '',
    renews: renews ? '1' : '',
  };
}

function valuesOfPack(pack: OperatorPack): FormValues {
  const { code, name, wallet, priceCents, isOffered } = pack;
  return {
    code,
    name,
    wallet,
    units: textOf(pack.units),
    rateLimitPerMinute: textOf(pack.rateLimitPerMinute),
    validDays: textOf(pack.validDays),
    window: pack.window ? windowText(pack.window) : '',
    price: amountOf(priceCents),
    isOffered: isOffered ? '1' : '',
  };
}

function textOf(value: number | null): string {
  return value === null ? '' : String(value);
}

function amountOf(cents: number): string {
  return (cents / 100).toFixed(2);
}

/** The field for the window of an off-peak pack that has hours of its own. */
export function OwnWindow(): VNode {
  return (
    <Field
      name="window"
      label="Window"
      maxLength={80}
      hint="Only for off-peak packs, such as 22:00-06:00 Europe/Berlin. Empty: the off-peak window of the service."
    />
  );
}
