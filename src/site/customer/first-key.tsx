import type { ComponentChildren, VNode } from 'preact';
import { keyPrefix } from '../../accounts/authentication.ts';
import { CallExamples } from '../kit/call-examples.tsx';
import { ANSWER, Secret } from '../kit/elements.tsx';
import { PostButton } from '../kit/form.tsx';

/** A key that is shown only once, with a button that copies it. */
function KeyShown({ apiKey }: { apiKey: string }): VNode {
  return (
    <>
      <Secret id="new-key" text={apiKey} />
      <p>
        <strong>Copy it now. It is shown only once.</strong> We store only a hash of it.
      </p>
    </>
  );
}

/** The part of a page that shows a new key. */
export function NewKey(props: { title: string; apiKey: string; children?: ComponentChildren }): VNode {
  return (
    <section class="notice good" {...ANSWER}>
      <h2>{props.title}</h2>
      <KeyShown apiKey={props.apiKey} />
      {props.children}
    </section>
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

/** What the audit log has of a first key. @param apiKey null: it was not created. */
export function firstKeyActs(apiKey: string | null) {
  return apiKey === null ? [] : [{ action: 'key.created', target: keyPrefix(apiKey) } as const];
}

/** The first key of an account, with an example of a call. */
export function FirstKey({ apiKey, baseUrl }: { apiKey: string; baseUrl: string }): VNode {
  return (
    <section class="notice good" aria-labelledby="first-key" {...ANSWER}>
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

const EXAMPLE_PATH = '/api/market/product?country=us&asins=B08N5WRWNX&detailLevel=summary';

/** A call in three languages, with a key. It costs one unit. */
export function FirstCall({ apiKey, baseUrl }: { apiKey: string; baseUrl: string }): VNode {
  const request = { method: 'GET', url: EXAMPLE_PATH };
  return <CallExamples id="first-call" request={request} baseUrl={baseUrl} apiKey={apiKey} />;
}
