import type { VNode } from 'preact';
import { PostButton } from '../kit/form.tsx';
import { Secret } from '../kit/secret.tsx';

const EXAMPLE_PATH = '/api/market/product?country=us&asins=B08N5WRWNX&detailLevel=summary';

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
      <pre class="wrap">
        <code id="first-call">{`curl -H "X-API-Key: ${apiKey}" "${baseUrl}${EXAMPLE_PATH}"`}</code>
      </pre>
      <p>
        <button type="button" class="small" data-copy="first-call" hidden>
          Copy the call
        </button>
      </p>
    </section>
  );
}
