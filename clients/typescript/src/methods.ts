import { type Answer, listAnswerOf } from './answer.ts';
import type { Calls } from './calls.ts';
import { ADDRESSES, type Address, type Methods } from './generated/operations.ts';
import type { CallOptions } from './method-types.ts';
import type { Request } from './transport.ts';

type Params = Readonly<Record<string, unknown>>;
type Method = (...args: unknown[]) => Answer<unknown>;

/** Creates the methods of all groups. */
export function createMethods(calls: Calls): Methods {
  const groups: Record<string, Record<string, Method>> = {};
  for (const [name, address] of Object.entries(ADDRESSES)) {
    const [group = '', method = ''] = name.split('.');
    groups[group] = { ...groups[group], [method]: createMethod(calls, name, address) };
  }
  return groups as unknown as Methods;
}

function createMethod(calls: Calls, name: string, address: Address): Method {
  const [, path, , repeats, takes, entries] = address;
  const hasId = path.includes('{id}');
  const send = (request: Request) => {
    if (name === 'jobs.create') return calls.job(request);
    return repeats === 'charged' ? calls.call(request) : calls.free(request);
  };
  return (...args) => {
    const id = hasId ? { id: args.shift() } : {};
    const params = { ...id, ...((takes === 'params' ? args.shift() : {}) as Params | undefined) };
    const options = args.shift() as CallOptions | undefined;
    const sendPage = (page: Params) => send(requestOf(name, address, { ...params, ...page }, options));
    return entries ? listAnswerOf(sendPage({}), entries, (cursor) => sendPage({ cursor })) : sendPage({});
  };
}

function requestOf(
  name: string,
  [method, path, timeoutSeconds, repeats, takes]: Address,
  params: Params,
  options: CallOptions = {},
): Request {
  const { signal, timeoutMs = timeoutSeconds * 1_000, headers, maxUnits, webhook, dryRun } = options;
  const { format = 'json', table } = options;
  const rest = { ...params };
  const filled = path.replace(/\{(\w+)\}/g, (_, parameter: string) => {
    const value = rest[parameter];
    delete rest[parameter];
    return encodeURIComponent(String(value));
  });
  const callOptions = {
    maxUnits,
    webhook,
    ...(dryRun ? { dryRun } : {}),
    ...(format === 'json' ? {} : { format, table }),
  };
  const hasBody = method === 'POST' || method === 'PATCH';
  // The service returns the same batch for the same key, so that a repetition creates no second one.
  if (name === 'batches.create') rest.idempotencyKey ??= crypto.randomUUID();
  return {
    method,
    path: filled,
    repeats,
    timeoutMs,
    signal,
    headers,
    query: hasBody ? callOptions : { ...rest, ...callOptions },
    // Also without parameters: the service then names those that are missing.
    ...(hasBody && takes === 'params' ? { body: rest } : {}),
  };
}
