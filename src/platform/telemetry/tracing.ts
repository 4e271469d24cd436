/**
 * Traces: what one request set off, in all processes, with times. Nothing that a customer sent becomes part of a span: no
 * key, no query, no body.
 */
export interface Tracing {
  /** Begins a span: a child of `parent`, or of the span it runs in, or a trace of its own. */
  start(options: SpanOptions): Span;
  /** Sends what is still to be sent. */
  close(): Promise<void>;
}

export interface SpanOptions {
  name: string;
  kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal';
  /** As W3C Trace Context writes it; what is not well formed counts as absent. */
  parent?: string | undefined;
  attributes?: Attributes;
}

export type Attributes = Record<string, string | number | boolean>;

export interface Span {
  /** The span as the parent of others in other processes, as W3C Trace Context writes it. */
  readonly traceparent: string;
  /** Runs something as part of the span: spans begun in there are its children. */
  within<T>(work: () => T): T;
  set(attributes: Attributes): void;
  /** Marks it as failed. The message of an error may hold what a customer sent, so only its kind is told. */
  fail(errorType: string): void;
  end(): void;
}

/** Does something as a span; without tracing just does it. */
export async function traced<T>(
  tracing: Tracing | null | undefined,
  options: SpanOptions,
  work: (span: Span | null) => Promise<T>,
): Promise<T> {
  if (!tracing) return work(null);
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

/** @param endpoint address of an OTLP collector; undefined: no tracing, and nothing of it is loaded. */
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
