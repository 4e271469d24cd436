import type { Operation, Route } from '../../src/operations/define.ts';
import { OPERATIONS } from '../../src/operations/index.ts';
import { LONGEST_WAIT_MS, POOL_NAMES, POOLS, SYNC_PATIENCE_MS } from '../../src/operations/pools.ts';

const queued = OPERATIONS.filter((operation) => operation.kind === 'queued');

/** Returns a table of all operations with the facts for calling them. */
export function operationsTable(): string {
  const header = ['Operation', 'Address', 'Aliases', 'Tool', 'Pool', 'Timeout', 'Units'];
  return table(
    header,
    OPERATIONS.map((operation) => {
      const [address = '', ...aliases] = addressesOf(operation.routes);
      const pools = operation.kind === 'queued' ? operation.pools : [];
      return [
        `\`${operation.name}\``,
        address,
        aliases.join(', '),
        `\`${operation.tool}\``,
        pools.map((pool) => `\`${pool}\``).join(', '),
        pools.map((pool) => `${POOLS[pool].timeoutMs / 1000} s`).join(', '),
        operation.kind === 'queued' ? operation.price.text : '0',
      ];
    }),
  );
}

/** Returns a table of the names for the field `operation` of batches and schedules. */
export function batchTable(): string {
  return table(
    ['`operation`', 'Address', 'Tables'],
    queued.map(({ name, routes, tables }) => [
      `\`${name}\``,
      `\`${routes[0].path}\``,
      Object.keys(tables ?? {})
        .map((one) => `\`${one}\``)
        .join(', '),
    ]),
  );
}

/** Returns a table of prices. */
export function priceTable(): string {
  return table(
    ['Address', 'What it does', 'Units'],
    OPERATIONS.map((operation) => [
      addressesOf(operation.routes).join('<br>'),
      operation.summary,
      priceOf(operation),
    ]),
  );
}

/** Returns a table of the tools that run operations. */
export function toolTable(): string {
  return table(
    ['Tool', 'What it does', 'Units'],
    OPERATIONS.map((operation) => [`\`${operation.tool}\``, operation.summary, priceOf(operation)]),
  );
}

function priceOf(operation: Operation): string {
  return operation.kind === 'queued' ? operation.price.text : 'free';
}

/** Returns a table of timeouts, the longest first. */
export function timeoutTable(): string {
  const byTimeout = new Map<number, string[]>();
  for (const { pools, routes } of queued) {
    const timeoutMs = Math.max(...pools.map((pool) => POOLS[pool].timeoutMs));
    byTimeout.set(timeoutMs, [...(byTimeout.get(timeoutMs) ?? []), `\`${routes[0].path}\``]);
  }
  return table(
    ['Timeout', 'A request waits up to', 'Operations'],
    [...byTimeout]
      .sort(([a], [b]) => b - a)
      .map(([timeoutMs, paths]) => [
        `${timeoutMs / 1000} s`,
        `${(Math.min(timeoutMs, LONGEST_WAIT_MS) + SYNC_PATIENCE_MS) / 1000} s`,
        paths.join(', '),
      ]),
  );
}

/** Returns a table of the worker pools. */
export function poolTable(): string {
  return table(
    ['Pool', 'Operations', 'Timeout', 'Jobs at a time per process'],
    POOL_NAMES.map((name) => [
      `\`${name}\``,
      queued
        .filter(({ pools }) => pools.includes(name))
        .map((operation) => `\`${operation.name}\``)
        .join(', '),
      `${POOLS[name].timeoutMs / 1000} s`,
      String(POOLS[name].concurrency),
    ]),
  );
}

/** Returns one text per path with its methods, the canonical path first. */
function addressesOf(routes: readonly Route[]): string[] {
  const methods = new Map<string, string[]>();
  for (const { method, path, type } of routes) {
    const address = type ? `${path}?type=${type}` : path;
    methods.set(address, [...(methods.get(address) ?? []), method]);
  }
  return [...methods].map(([address, list]) => `\`${list.sort().join(', ')} ${address}\``);
}

export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(header), `|${'---|'.repeat(header.length)}`, ...rows.map(line)].join('\n');
}
