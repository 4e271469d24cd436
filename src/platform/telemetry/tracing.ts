/** Traces a request through all processes. Spans contain nothing that a customer has sent: no key, no query, no body. */
export interface Tracing {
  /** Starts a span: a child of `parent`, or of the current span, or the root of a new trace. */
  start(options: SpanOptions): Span;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

interface SpanOptions {
  name: string;
  kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  /** A W3C `traceparent`; a malformed one counts as absent. */
  parent?: string | undefined;
  attributes?: Attributes;
}

type Attributes = Record<string, string | number | boolean>;

export interface Span {
  /** The W3C `traceparent` of this span, for child spans in other processes. */
  readonly traceparent: string;
  /** Runs work within the span: spans started there are its children. */
  within<T>(work: () => T): T;
  set(attributes: Attributes): void;
  /** Marks the span as failed. Error messages may contain a customer's input, so only the type of the error is recorded. */
  fail(errorType: string): void;
  end(): void;
}

/** Runs `work` as a span; without tracing it just runs. */
export function traced<T>(
  tracing: Tracing | null | undefined,
  options: SpanOptions,
  work: (span: Span | null) => Promise<T>,
): Promise<T> {
  return tracing ? within(tracing, options, work) : work(null);
}

async function within<T>(
  tracing: Tracing,
  options: SpanOptions,
  work: (span: Span | null) => Promise<T>,
): Promise<T> {
  const span = tracing.start(options);
  try {
    return await span.within(() => work(span));
  } catch (error) {
    span.fail(errorTypeOf(error));
    throw error;
  } finally {
    span.end();
  }
}

/** @param endpoint address of an OTLP collector; undefined disables tracing, and the SDK is not loaded. */
export async function openTracing(
  endpoint: string | undefined,
  serviceName: string,
  onError: (message: string) => void,
): Promise<Tracing | null> {
  if (endpoint === undefined) return null;
  const { createOtlpTracing } = await import('./otlp.ts');
  return createOtlpTracing({ endpoint, serviceName, onError });
}

function errorTypeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'Error';
  const { kind, code } = error as { kind?: unknown; code?: unknown };
  if (typeof kind === 'string') return kind;
  return typeof code === 'string' ? code : error.name;
}
