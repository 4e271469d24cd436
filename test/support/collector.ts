import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { closeServer } from './close-server.ts';

export interface CollectedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  /** 2 server, 3 client, 4 producer, 5 consumer, 1 internal. */
  kind: number;
  status: { code: number };
  attributes: Record<string, unknown>;
}

/** A collector of traces: takes OTLP as JSON over HTTP and remembers it. */
export interface Collector {
  url: string;
  spans: CollectedSpan[];
  /** Everything that it has received, unparsed. */
  received(): string;
  close(): Promise<void>;
}

interface Sent {
  resourceSpans: {
    scopeSpans: { spans: (Omit<CollectedSpan, 'attributes'> & { attributes: Pair[] })[] }[];
  }[];
}

interface Pair {
  key: string;
  value: Record<string, unknown>;
}

export async function openCollector(): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  let received = '';
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => {
      received += text;
      if (request.url !== '/v1/traces') {
        response.writeHead(404).end();
        return;
      }
      for (const { scopeSpans } of (JSON.parse(text) as Sent).resourceSpans)
        for (const scope of scopeSpans)
          for (const span of scope.spans) {
            const pairs = span.attributes.map(({ key, value }) => [key, Object.values(value)[0]]);
            spans.push({ ...span, attributes: Object.fromEntries(pairs) as Record<string, unknown> });
          }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    received: () => received,
    close: () => closeServer(server),
  };
}
