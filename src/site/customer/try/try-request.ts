import type { GatewayRequest } from '../../../api/self-client.ts';
import type { Operation } from '../../../operations/define.ts';
import { stringifyJson } from '../../../platform/json.ts';
import { routeOf } from './try-fields.ts';

/** The request of a call. */
export interface TryRequest extends GatewayRequest {
  body?: Record<string, unknown>;
}

/** Builds the request of a call: parameters in path, query or body, as the operation's route defines. */
export function tryRequest(operation: Operation, parameters: Readonly<Record<string, unknown>>): TryRequest {
  const { method, path, jsonParameter } = routeOf(operation);
  if (method === 'POST') return { method, url: path, body: parameters };
  if (jsonParameter)
    return {
      method,
      url: `${path}?${new URLSearchParams({ [jsonParameter]: stringifyJson(parameters) })}`,
    };
  const rest = { ...parameters };
  const filled = path.replace(/:(\w+)/g, (_, name: string) => {
    const value = sent(rest[name] ?? '');
    delete rest[name];
    // An empty path segment would be another address.
    return encodeURIComponent(value || '-');
  });
  const query = new URLSearchParams(Object.entries(rest).map(([name, value]) => [name, sent(value)]));
  return { method, url: query.size > 0 ? `${filled}?${query}` : filled };
}

/** Adds an option such as a dry run to the query. */
export function withOption(request: TryRequest, option: string): TryRequest {
  const separator = request.url.includes('?') ? '&' : '?';
  return { ...request, url: `${request.url}${separator}${option}` };
}

function sent(value: unknown): string {
  if (Array.isArray(value)) return value.every(isScalar) ? value.join(',') : stringifyJson(value);
  return isScalar(value) ? String(value) : stringifyJson(value);
}

function isScalar(value: unknown): value is string | number | boolean {
  return typeof value !== 'object' || value === null;
}

/** The call as a curl command, with a placeholder for the key. */
export function curlLine({ method, url, body }: TryRequest, baseUrl: string): string {
  const parts = ['curl', '-H', quoted('X-API-Key: YOUR_KEY')];
  if (method !== 'GET') parts.push('-X', method);
  if (body) parts.push('-H', quoted('Content-Type: application/json'), '-d', quoted(stringifyJson(body)));
  return [...parts, quoted(`${baseUrl}${url}`)].join(' ');
}

/** In single quotes a shell interprets only the quote itself. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
