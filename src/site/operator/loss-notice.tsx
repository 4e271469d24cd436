import type { VNode } from 'preact';
import { lossesIn, type OperationUsage } from '../../operator/usage-report.ts';
import { amount } from '../kit/words.tsx';

/** Warns of operations that sold fewer units than they spent tokens. */
export function LossNotice({ usage }: { usage: readonly OperationUsage[] }): VNode | null {
  const losses = lossesIn(usage);
  if (losses.length === 0) return null;
  return (
    <div class="notice warn">
      <p>
        <strong>Sold below the cost of their tokens:</strong>{' '}
        {losses.map(({ operation, unitsSold, tokensSpent }, i) => (
          <span key={operation}>
            {i > 0 && ', '}
            <code>{operation}</code> ({amount(unitsSold / tokensSpent)} units per token)
          </span>
        ))}
        . Cached answers of these operations still earn their units without tokens.
      </p>
    </div>
  );
}
