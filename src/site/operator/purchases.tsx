import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { GrantRefused } from '../../billing/grants.ts';
import { type PurchaseWithAccount, purchasesWithAccounts } from '../../billing/payments/purchases.ts';
import { type EndingPlan, endingPlans } from '../../operator/account-facts.ts';
import { saleActs } from '../../operator/acts/sale-acts.ts';
import { SoukError } from '../../platform/errors.ts';
import { PaidAmount, PurchaseTag, purchaseText } from '../customer/purchases.tsx';
import { Tag } from '../kit/elements.tsx';
import { PostButton } from '../kit/form.tsx';
import { ListPage, pageOf } from '../kit/list-page.tsx';
import { sendPage } from '../kit/render.tsx';
import { type Column, Table, tableOf } from '../kit/table.tsx';
import { money, Time, WALLET_NAMES } from '../kit/words.tsx';
import { operatingOf, type Pages } from '../pages.ts';

const PATH = '/admin/orders';

const PURCHASES_A_PAGE = 50;

const params = z.object({ orderId: z.uuid() });
const paging = z.object({ before: z.uuid().nullable().catch(null) });

/** Registers the pages of pending and ended purchases. The operator confirms or cancels pending ones. */
export function registerPurchases(scope: FastifyInstance, pages: Pages): void {
  const { database, clock } = pages;
  scope.get(PATH, showPurchases);
  scope.post(`${PATH}/:orderId/confirm`, confirm);
  scope.post(`${PATH}/:orderId/cancel`, cancel);

  async function showPurchases(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { before } = paging.parse(request.query);
    const isFirstPage = before === null;
    const [pending, ending, ended] = await Promise.all([
      isFirstPage ? purchasesWithAccounts(database, { pending: true, before: null, limit: 500 }) : [],
      isFirstPage ? endingPlans(database, clock.now()) : [],
      purchasesWithAccounts(database, { pending: false, before, limit: PURCHASES_A_PAGE + 1 }),
    ]);
    const list = pageOf(ended, PURCHASES_A_PAGE, { before: before ?? undefined }, ({ id }) => id);
    const intro = isFirstPage && (
      <>
        <h2>Payment pending</h2>
        <PendingTable purchases={pending} />
        <h2>Plans that end within 7 days</h2>
        <EndingTable rows={ending} />
      </>
    );
    return sendPage(
      reply,
      <ListPage title="Purchases" styles={[]} intro={intro} path={PATH} list={list} cursor="before">
        <h2>History</h2>
        <EndedTable rows={list.items} />
      </ListPage>,
    );
  }

  /** A purchase that is confirmed twice is granted once. */
  async function confirm(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    try {
      if (!(await saleActs.confirm(operatingOf(pages, request), idIn(request)))) throw noSuchPurchase();
    } catch (error) {
      if (error instanceof GrantRefused) throw new SoukError('BATCH_STATE', { message: error.message });
      throw error;
    }
    return reply.redirect(PATH, 303);
  }

  async function cancel(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    await saleActs.cancel(operatingOf(pages, request), idIn(request));
    return reply.redirect(PATH, 303);
  }
}

function idIn(request: FastifyRequest): string {
  const parsed = params.safeParse(request.params);
  if (!parsed.success) throw noSuchPurchase();
  return parsed.data.orderId;
}

const noSuchPurchase = () => new SoukError('NOT_FOUND', { message: 'This purchase does not exist.' });

const FACTS: readonly Column<PurchaseWithAccount>[] = [
  ['Created', ({ createdAt }) => <Time at={createdAt} />],
  ['Account', ({ accountId, email }) => <a href={`/admin/accounts/${accountId}`}>{email}</a>],
  [
    'Item',
    (purchase) => (
      <>
        {purchaseText(purchase)} {purchase.wallet === 'off_peak' && <Tag>{WALLET_NAMES.off_peak}</Tag>}
      </>
    ),
  ],
  ['Amount', (purchase) => <PaidAmount purchase={purchase} />, 'number'],
  ['Purchase id', ({ id }) => <code class="id">{id}</code>],
];

/** No provider renews these plans, so the operator may remind their customers. */
const EndingTable = tableOf<EndingPlan>('Plans that end within 7 days', 'No plan ends within 7 days.', [
  ['Account', ({ accountId, email }) => <a href={`/admin/accounts/${accountId}`}>{email}</a>],
  ['Plan', ({ planName }) => planName],
  ['Wallet', ({ wallet }) => WALLET_NAMES[wallet]],
  ['Ends', ({ endsAt }) => <Time at={endsAt} />],
]);

const EndedTable = tableOf<PurchaseWithAccount>('Ended purchases', 'No ended purchases yet.', [
  ...FACTS,
  ['Payment provider', ({ provider }) => provider],
  ['State', (purchase) => <PurchaseTag purchase={purchase} />],
  ['Ended', ({ endedAt }) => <Time at={endedAt} />],
]);

function PendingTable({ purchases }: { purchases: readonly PurchaseWithAccount[] }): VNode {
  return (
    <Table
      name="Pending purchases"
      empty="No pending purchases."
      rows={purchases}
      columns={[...FACTS, ['Action', (purchase) => <Decision purchase={purchase} />]]}
    />
  );
}

function Decision({ purchase: { id, amountCents, currency, email } }: { purchase: PurchaseWithAccount }) {
  return (
    <div class="row">
      <PostButton
        action={`${PATH}/${id}/confirm`}
        confirm={`Confirm that ${email} has paid ${money(amountCents, currency)}? The purchase is granted immediately.`}
        class="small primary"
      >
        Confirm payment
      </PostButton>
      <PostButton
        action={`${PATH}/${id}/cancel`}
        confirm={`Cancel the purchase of ${email}?`}
        class="small danger"
      >
        Cancel
      </PostButton>
    </div>
  );
}
