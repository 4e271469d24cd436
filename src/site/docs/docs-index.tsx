import type { VNode } from 'preact';
import { DocsFrame } from './docs-frame.tsx';
import { GUIDES } from './guides.ts';

export function DocsIndex(): VNode {
  return (
    <DocsFrame title="Documentation" path="/docs">
      <h1>Documentation</h1>
      <p class="lead">
        Products, categories, sellers, deals, keywords and search trends of the marketplace, over HTTP and as
        tools for agents.
      </p>
      <div class="grid">
        {GUIDES.map(({ slug, title, summary }) => (
          <Card key={slug} href={`/docs/${slug}`} title={title} summary={summary} />
        ))}
        <Card
          href="/docs/api"
          title="API reference"
          summary="Every address with its parameters, answers and errors. Try calls with your key."
        />
        <Card
          href="/openapi.json"
          title="OpenAPI"
          summary="The API description in OpenAPI 3.1, for client generators and other tools."
        />
      </div>
    </DocsFrame>
  );
}

function Card({ href, title, summary }: { href: string; title: string; summary: string }): VNode {
  return (
    <section class="card">
      <h2>
        <a href={href}>{title}</a>
      </h2>
      <p>{summary}</p>
    </section>
  );
}
