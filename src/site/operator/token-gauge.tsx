import type { VNode } from 'preact';
import { amount } from '../kit/words.tsx';

/** Unused tokens expire after an hour, which limits their number. */
const CAPACITY_MINUTES = 60;

/** The provider's tokens that are left, and their maximum. */
export function TokenGauge({ tokens }: { tokens: { left: number; perMinute: number } | null }): VNode {
  if (!tokens) return <p class="muted">Unknown: no worker has contacted the provider yet.</p>;
  const { left, perMinute } = tokens;
  const capacity = perMinute * CAPACITY_MINUTES;
  return (
    <div class="meter">
      <p>
        <span class="figure">{amount(left)}</span> <small>{`left of ${amount(capacity)}`}</small>
      </p>
      {capacity > 0 && (
        <meter
          min={0}
          max={capacity}
          low={capacity * 0.1}
          high={capacity * 0.3}
          optimum={capacity}
          value={Math.min(capacity, Math.max(0, left))}
          aria-label={`${amount(left)} of ${amount(capacity)} tokens left`}
        />
      )}
      <small>{`${amount(perMinute)} more per minute`}</small>
    </div>
  );
}
