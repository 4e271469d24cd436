import type { VNode } from 'preact';
import { PostButton } from '../../kit/form.tsx';
import { Secret } from '../../kit/secret.tsx';
import { Time } from '../../kit/words.tsx';
import type { SecretView } from './webhooks.tsx';

/** The signing secret. @param shown a new secret, which is shown only once. */
export function WebhookSecret({ secret, shown }: { secret: SecretView | null; shown: string | null }): VNode {
  return (
    <section class="card" aria-labelledby="secret">
      <h2 id="secret">Signing secret</h2>
      {shown !== null && (
        <div class="notice good">
          <Secret id="new-secret" text={shown} />
          <p>
            <strong>Copy it now. It is shown only once.</strong>
          </p>
        </div>
      )}
      {secret ? (
        <p>
          Created <Time at={secret.createdAt} />.
          {secret.previousSignsUntil && (
            <>
              {' '}
              The previous secret also signs until <Time at={secret.previousSignsUntil} />, so that you can
              update your servers.
            </>
          )}
        </p>
      ) : (
        <p class="muted">No secret yet. Create one before you use webhooks.</p>
      )}
      <PostButton
        action="/account/webhooks/secret"
        confirm={
          secret ? 'Create a new secret? The current secret also signs for a limited time.' : undefined
        }
        class={secret ? '' : 'primary'}
      >
        {secret ? 'Create a new secret' : 'Create a secret'}
      </PostButton>
    </section>
  );
}
