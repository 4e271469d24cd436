import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { listAllPacks, listAllPlans } from '../../billing/payments/offers.ts';
import {
  listReductions,
  type NewReduction,
  reductionText,
  type UsedReduction,
} from '../../billing/payments/reductions.ts';
import { saleActs } from '../../operator/acts/sale-acts.ts';
import { reductionFields } from '../../operator/fields.ts';
import { SoukError } from '../../platform/errors.ts';
import { Card, Tag } from '../kit/elements.tsx';
import {
  CheckBox,
  Choice,
  Field,
  HiddenFields,
  type Option,
  PostButton,
  PostForm,
  Submit,
} from '../kit/form.tsx';
import {
  digits,
  FormRefused,
  type FormState,
  NO_INPUT,
  onSubmit,
  readForm,
  readValues,
} from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { Table } from '../kit/table.tsx';
import { count, Dash, Time } from '../kit/words.tsx';
import { operatingOf, type Pages } from '../pages.ts';

const PATH = '/admin/coupons';

const params = z.object({ id: digits() });

/** Registers the page on which the operator creates and ends coupons and discounts. */
export function registerCoupons(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, currency } = pages;
  scope.get(PATH, (_request, reply) => show(reply, NO_INPUT));
  scope.post(PATH, onSubmit(read, show, create));
  scope.post(`${PATH}/:id/end`, async (request, reply) => {
    const parsed = params.safeParse(request.params);
    const ended =
      parsed.success && (await saleActs.endReduction(operatingOf(pages, request), parsed.data.id));
    if (!ended)
      throw new SoukError('NOT_FOUND', { message: 'This coupon or discount does not exist or has ended.' });
    return reply.redirect(PATH, 303);
  });

  function read(body: unknown) {
    const kind = readValues(body).kind === 'discount' ? 'discount' : 'coupon';
    return readForm(reductionFields(kind, { currency, now: clock.now() }), body);
  }

  async function create(reduction: NewReduction, request: FastifyRequest): Promise<string> {
    const made = await saleActs.createReduction(operatingOf(pages, request), reduction);
    if ('fault' in made) throw new FormRefused(409, { [made.field]: made.fault });
    return PATH;
  }

  async function show(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    const now = clock.now();
    const [reductions, plans, packs] = await Promise.all([
      listReductions(database, now),
      listAllPlans(database, now),
      listAllPacks(database),
    ]);
    const priced = plans.filter(({ priceCents }) => priceCents !== null && priceCents > 0);
    const offers: Option[] = [
      ['all', 'All plans and packs'],
      ...priced.map(({ code, name }): Option => [`plan:${code}`, `Plan ${name}`]),
      ...packs.map(({ code, name }): Option => [`pack:${code}`, `Pack ${name}`]),
    ];
    const shared = { form, currency, offers };
    return sendPage(
      reply,
      <Page title="Coupons and discounts" wide>
        <p class="lead">
          Customers enter the code of a coupon. A discount applies by itself. A purchase has the one that is
          best for the customer, and keeps its price: nothing on this page changes what was bought.
        </p>
        <ReductionTable reductions={reductions} now={now} />
        <div class="split">
          <ReductionForm kind="coupon" {...shared} />
          <ReductionForm kind="discount" {...shared} />
        </div>
      </Page>,
      status,
    );
  }
}

function ReductionTable({ reductions, now }: { reductions: readonly UsedReduction[]; now: number }): VNode {
  return (
    <Table
      name="Coupons and discounts"
      empty="No coupons or discounts yet."
      rows={reductions}
      columns={[
        ['Code', ({ code }) => (code === null ? 'Discount' : <code>{code}</code>)],
        ['Reduction', (one) => reductionText(one)],
        ['For', ({ offerKind, offerCode }) => (offerKind === null ? 'all' : `${offerKind} ${offerCode}`)],
        ['Account', ({ accountId }) => <AccountOf accountId={accountId} />],
        ['Until', ({ endsAt }) => <Time at={endsAt} />],
        ['Purchases', (one) => <Uses of={one} />, 'number'],
        [
          'Action',
          ({ id, code, endsAt }) =>
            endsAt.getTime() > now ? (
              <PostButton
                action={`${PATH}/${id}/end`}
                confirm={`End ${code === null ? 'this discount' : `the coupon ${code}`} now? What was bought with it keeps its price.`}
                class="small"
              >
                End now
              </PostButton>
            ) : (
              <Tag>ended</Tag>
            ),
        ],
      ]}
    />
  );
}

function AccountOf({ accountId }: { accountId: number | null }): VNode {
  if (accountId === null) return <Dash />;
  return <a href={`/admin/accounts/${accountId}`}>{accountId}</a>;
}

function Uses({ of: { uses, maxUses, oncePerAccount } }: { of: UsedReduction }): VNode {
  return (
    <>
      {count(uses)}
      {maxUses !== null && ` of ${count(maxUses)}`}
      {oncePerAccount && <small> once each</small>}
    </>
  );
}

/** The form of a new coupon or discount. */
function ReductionForm(props: {
  kind: 'coupon' | 'discount';
  form: FormState;
  currency: string;
  offers: readonly Option[];
}): VNode {
  const { kind, form, currency, offers } = props;
  const isCoupon = kind === 'coupon';
  const field = (name: string) => ({ name, id: `${kind}-${name}` });
  return (
    <Card title={`New ${kind}`}>
      <PostForm action={PATH} form={form.values.kind === kind ? form : undefined}>
        <HiddenFields fields={{ kind }} />
        {isCoupon && (
          <Field
            {...field('code')}
            label="Code"
            required
            maxLength={20}
            hint="3 to 20 letters, digits and hyphens. Codes that are hard to guess stay with those you give them to."
          />
        )}
        <Field {...field('percent')} label="Percent off" type="number" min={1} max={100} />
        <Field
          {...field('amount')}
          label={`Or amount off in ${currency.toUpperCase()}`}
          hint="For each purchase; for a plan that renews, each month."
        />
        <Choice {...field('offer')} label="For" options={offers} />
        {!isCoupon && (
          <Field
            {...field('account')}
            label="Account"
            type="number"
            min={1}
            hint="Its number. Empty: all accounts."
          />
        )}
        <Field
          {...field('until')}
          label="Until"
          required
          hint="A time such as 2027-01-31 or 2027-01-31T12:00:00Z. Months of a renewing plan that begin later cost the list price."
        />
        {isCoupon && (
          <>
            <Field {...field('uses')} label="Purchases" type="number" min={1} hint="Empty: any number." />
            <CheckBox {...field('once')} label="Once for each account" />
          </>
        )}
        <Submit>Create {kind}</Submit>
      </PostForm>
    </Card>
  );
}
