import type { VNode } from 'preact';
import { assetUrl } from '../kit/assets.ts';
import { Page } from '../kit/layout.tsx';

/** The API reference: Swagger UI reads /openapi.json and fills the page. */
export function ReferencePage(): VNode {
  return (
    <Page title="API reference" path="/docs/api" styles={['swagger-ui.css', 'docs.css']} wide>
      <h1>API reference</h1>
      <p class="lead">
        Every address, with its parameters, answers and errors. <b>Authorize</b> takes your key; then{' '}
        <b>Try it out</b> makes real calls, which cost what they always cost. The key is forgotten when you
        leave the page. <a href="/docs">Guides</a> tell the rest.
      </p>
      <div id="api-reference" class="api-reference">
        <noscript>
          This page needs JavaScript. The same is in <a href="/openapi.json">/openapi.json</a>.
        </noscript>
      </div>
      {/* No module, so it stands before the one that uses it. */}
      <script src={assetUrl('swagger-ui-bundle.js')} defer />
      <script src={assetUrl('api-reference.js')} type="module" />
    </Page>
  );
}
