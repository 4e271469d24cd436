import type { VNode } from 'preact';
import { FirstCall } from '../kit/first-call.tsx';
import { PostButton } from '../kit/form.tsx';
import { Secret } from '../kit/secret.tsx';

/** A new key with a button that copies it. It is shown only once. */
export function KeyShown({ apiKey }: { apiKey: string }): VNode {
  return (
    <>
      <Secret id="new-key" text={apiKey} />
      <p>
        <strong>Copy it now. It is shown only once.</strong> We store only a hash of it.
      </p>
    </>
  );
}

/** The button that creates the first key of an account. */
export function ShowFirstKey(): VNode {
  return (
    <PostButton action="/account/keys/first" class="primary">
      Show my API key
    </PostButton>
  );
}

/** The first key of an account, with an example of a call. */
export function FirstKey({ apiKey, baseUrl }: { apiKey: string; baseUrl: string }): VNode {
  return (
    <section class="notice good" aria-labelledby="first-key">
      <h2 id="first-key">Your API key</h2>
      <KeyShown apiKey={apiKey} />
      <p>Your first call, which costs one unit:</p>
      <FirstCall apiKey={apiKey} baseUrl={baseUrl} />
      <p>
        Then look at a product in the <a href="/explore">explorer</a>, or read how to{' '}
        <a href="/docs/tools-for-agents">connect an agent</a>.
      </p>
    </section>
  );
}
