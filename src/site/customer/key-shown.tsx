import type { VNode } from 'preact';
import { PostButton } from '../kit/form.tsx';
import { Secret } from '../kit/secret.tsx';

const EXAMPLE_PATH = '/api/market/product?country=us&asins=B08N5WRWNX&detailLevel=summary';

/** A key, the only time it is seen, to be copied. */
export function KeyShown({ apiKey }: { apiKey: string }): VNode {
  return (
    <>
      <Secret id="new-key" text={apiKey} />
      <p>
        <strong>Keep it now: it is shown this once.</strong> We store only what recognises it.
      </p>
    </>
  );
}

/** Creates the first key of an account, once it is due. */
export function ShowFirstKey(): VNode {
  return (
    <PostButton action="/account/keys/first" class="primary">
      Show my API key
    </PostButton>
  );
}

/** The first key of an account, and what to do with it. */
export function FirstKey({ apiKey, baseUrl }: { apiKey: string; baseUrl: string }): VNode {
  return (
    <section class="notice good" aria-labelledby="first-key">
      <h2 id="first-key">Your API key</h2>
      <KeyShown apiKey={apiKey} />
      <p>Your first call, for one unit:</p>
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
