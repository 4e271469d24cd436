import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { setGlobalErrorHandler, W3CTraceContextPropagator } from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { Tracing } from './tracing.ts';

const KINDS = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const;

/**
 * Sends spans to an OTLP collector, as JSON over HTTP. The SDK reads the standard variables (OTEL_SERVICE_NAME,
 * OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS, ...). It registers nothing globally, so tests
 * can use several tracings in one process.
 */
export function createOtlpTracing({
  endpoint,
  serviceName,
  onError,
}: {
  endpoint: string;
  serviceName: string;
  onError: (message: string) => void;
}): Tracing {
  setGlobalErrorHandler((error) => onError(typeof error === 'string' ? error : (error.message ?? 'unknown')));
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ 'service.name': serviceName }))
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: `${endpoint}/v1/traces` }))],
  });
  const tracer = provider.getTracer('souk');
  const propagator = new W3CTraceContextPropagator();
  const active = new AsyncLocalStorage<Context>();

  return {
    start({ name, kind, parent, attributes }) {
      const around = active.getStore() ?? ROOT_CONTEXT;
      const context =
        parent === undefined
          ? around
          : propagator.extract(ROOT_CONTEXT, { traceparent: parent }, defaultTextMapGetter);
      const span = tracer.startSpan(
        name,
        { kind: KINDS[kind], ...(attributes ? { attributes } : {}) },
        context,
      );
      const inside = trace.setSpan(context, span);
      return {
        get traceparent() {
          const carrier: { traceparent?: string } = {};
          propagator.inject(inside, carrier, defaultTextMapSetter);
          return carrier.traceparent ?? '';
        },
        within: (work) => active.run(inside, work),
        set: (values) => void span.setAttributes(values),
        fail(errorType) {
          span.setAttribute('error.type', errorType);
          span.setStatus({ code: SpanStatusCode.ERROR });
        },
        end: () => span.end(),
      };
    },
    close: () => provider.shutdown().catch((error: unknown) => onError(String(error))),
  };
}
