import type { VNode } from 'preact';
import { PostButton } from '../../kit/form.tsx';
import { Secret } from '../../kit/secret.tsx';
import { Time } from '../../kit/words.tsx';
import type { SecretView } from './webhooks.tsx';

/** The signing secret: shown when it is made, and never again. @param shown a new one. */
export function WebhookSecret({ secret, shown }: { secret: SecretView | null; shown: string | null }): VNode {
  return (
    <section class="card" aria-labelledby="secret">
      <h2 id="secret">Signing secret</h2>
      {shown !== null && (
        <div class="notice good">
          <Secret id="new-secret" text={shown} />
          <p>
            <strong>Keep it now: it is shown this once.</strong>
          </p>
        </div>
      )}
      {secret ? (
        <p>
          Made <Time at={secret.createdAt} />.
          {secret.previousSignsUntil && (
            <>
              {' '}
              The one of before signs too until <Time at={secret.previousSignsUntil} />, so that your
              receivers can change over.
            </>
          )}
        </p>
      ) : (
        <p class="muted">There is none yet; without one no webhook is taken.</p>
      )}
      <PostButton
        action="/account/webhooks/secret"
        confirm={secret ? 'Make a new secret? The present one goes on signing for a while.' : undefined}
        class={secret ? '' : 'primary'}
      >
        {secret ? 'Make a new secret' : 'Make a secret'}
      </PostButton>
    </section>
  );
}
