import type { VNode } from 'preact';
import type { Loss } from '../../operator/usage-report.ts';
import { money } from '../kit/words.tsx';

/** Warns of operations whose units were sold for less than their tokens cost. */
export function LossNotice({
  losses,
  currency,
}: {
  losses: readonly Loss[];
  currency: string;
}): VNode | null {
  if (losses.length === 0) return null;
  return (
    <div class="notice warn">
      <p>
        <strong>Sold below the cost of their tokens:</strong>{' '}
        {losses.map(({ operation, soldCents, tokenCents }, i) => (
          <span key={operation}>
            {i > 0 && ', '}
            <code>{operation}</code> (units for {money(soldCents, currency)}, tokens for{' '}
            {money(tokenCents, currency)})
          </span>
        ))}
        . Cached answers of these operations still earn their units without tokens.
      </p>
    </div>
  );
}
