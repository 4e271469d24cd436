import type { FastifyInstance, FastifyReply } from 'fastify';
import type { VNode } from 'preact';
import { z } from 'zod';
import { findOffer, offeredPacks, type PackOffer } from '../../billing/payments/offers.ts';
import { type AutoTopUp, findTopUp, saveTopUp } from '../../billing/payments/top-ups.ts';
import { wholeNumber } from '../../operator/fields.ts';
import { Card } from '../kit/elements.tsx';
import { Fields, PostButton, PostForm, Submit } from '../kit/form.tsx';
import { FormRefused, type FormState, NO_INPUT, postForm } from '../kit/form-request.ts';
import { Page } from '../kit/layout.tsx';
import { sendPage } from '../kit/render.tsx';
import { money } from '../kit/words.tsx';
import type { Pages } from '../pages.ts';
import { customerOf } from '../session.ts';

const PATH = '/account/top-up';

const schema = z.object({
  packCode: z.string().min(1, 'is required').max(100),
  thresholdUnits: wholeNumber(1, 1_000_000_000),
  ceiling: wholeNumber(1, 1_000_000),
  isOn: z.enum(['on', 'off']),
});

/** Registers the page on which a customer switches the automatic top-up on or off. */
export function registerTopUp(scope: FastifyInstance, pages: Pages): void {
  const { database, clock, currency, payments } = pages;
  if (!payments.renewals) return;
  scope.get(PATH, (_request, reply) => show(reply, NO_INPUT));
  postForm(scope, PATH, schema, show, async (input, request) => {
    const { packCode, thresholdUnits, ceiling, isOn } = input;
    const pack = await findOffer(database, 'pack', packCode);
    if (!pack || pack.priceCents === 0) throw new FormRefused(400, { packCode: 'is not for sale' });
    if (pack.priceCents > ceiling * 100)
      throw new FormRefused(400, {
        ceiling: `must be at least the price of the pack, ${money(pack.priceCents, currency)}`,
      });
    const rule = { packCode, thresholdUnits, ceilingCents: ceiling * 100, isOn: isOn === 'on' };
    await saveTopUp(database, customerOf(request).liveAccountId, rule, clock.now());
    return PATH;
  });

  async function show(reply: FastifyReply, form: FormState, status?: number): Promise<FastifyReply> {
    const [topUp, packs] = await Promise.all([
      findTopUp(database, customerOf(reply.request).liveAccountId),
      offeredPacks(database),
    ]);
    return sendPage(
      reply,
      <Page title="Automatic top-up" path="/account/plans">
        <p class="lead">
          When a wallet has fewer units than the threshold, Souk buys a pack with your saved card. It spends
          at most the ceiling in a calendar month (UTC).
        </p>
        {topUp && <TopUpState topUp={topUp} currency={currency} />}
        <Card>
          <TopUpForm topUp={topUp} packs={packs} form={form} currency={currency} />
          <PostButton action="/account/portal">Save or change a card</PostButton>
        </Card>
      </Page>,
      status,
    );
  }
}

function TopUpState({ topUp, currency }: { topUp: AutoTopUp; currency: string }): VNode {
  const { isOn, stoppedReason, month, spentCents } = topUp;
  return (
    <div class={stoppedReason === null ? 'notice' : 'notice bad'}>
      <p>
        {isOn ? 'On.' : 'Off.'} {stoppedReason !== null && `It was switched off: ${stoppedReason} `}
        {month !== '' && `Bought in ${month}: ${money(spentCents, currency)}.`}
      </p>
    </div>
  );
}

function TopUpForm(props: {
  topUp: AutoTopUp | null;
  packs: readonly PackOffer[];
  form: FormState;
  currency: string;
}): VNode {
  const { topUp, packs, form, currency } = props;
  const offered = packs.filter(({ priceCents }) => priceCents > 0);
  const options = offered.map(
    ({ code, name, priceCents }) => [code, `${name}, ${money(priceCents, currency)}`] as const,
  );
  const switches = [
    ['on', 'On'],
    ['off', 'Off'],
  ] as const;
  const number = { type: 'number', min: 1, required: true } as const;
  const threshold = { ...number, preset: String(topUp?.thresholdUnits ?? 1_000) };
  const ceiling = { ...number, preset: String((topUp?.ceilingCents ?? 10_000) / 100) };
  return (
    <PostForm action={PATH} form={form}>
      <Fields
        rows={[
          ['packCode', 'Pack', { options, preset: topUp?.packCode ?? '' }],
          ['thresholdUnits', 'Buy when fewer units are left than', threshold],
          ['ceiling', `Spend per month at most, in ${currency.toUpperCase()}`, ceiling],
          ['isOn', 'Automatic top-up', { options: switches, preset: topUp?.isOn ? 'on' : 'off' }],
        ]}
      />
      <p class="hint">
        A plan that renews saves its card; without one, save a card first. If a payment fails, the top-up is
        switched off, and this page shows why.
      </p>
      <Submit>Save</Submit>
    </PostForm>
  );
}
