import type { VNode } from 'preact';
import { assetUrl } from '../kit/assets.ts';
import { Page } from '../kit/layout.tsx';

/** The API reference: Swagger UI reads /openapi.json and fills the page. */
export function ReferencePage(): VNode {
  return (
    <Page title="API reference" path="/docs/api" styles={['swagger-ui.css', 'docs.css']} wide>
      <h1>API reference</h1>
      <p class="lead">
        Every address with its parameters, answers and errors. Enter your key under <b>Authorize</b>;{' '}
        <b>Try it out</b> then makes real calls, which cost units. The key is discarded when you leave the
        page. See also the <a href="/docs">guides</a>.
      </p>
      <div id="api-reference" class="api-reference">
        <noscript>
          This page needs JavaScript. The OpenAPI document is at <a href="/openapi.json">/openapi.json</a>.
        </noscript>
      </div>
      {/* A classic script, which must precede the module that uses it. */}
      <script src={assetUrl('swagger-ui-bundle.js')} defer />
      <script src={assetUrl('api-reference.js')} type="module" />
    </Page>
  );
}
