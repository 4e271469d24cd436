import type { Operation, Route } from '../../operations/define.ts';
import { OPERATIONS } from '../../operations/index.ts';
import { POOLS, SYNC_PATIENCE_MS } from '../../operations/pools.ts';

/** What every operation costs, from the contracts. */
export function priceTable(): string {
  const rows = OPERATIONS.map(
    (operation) =>
      `| ${addressesOf(operation.routes).join('<br>')} | ${operation.summary} | ${priceOf(operation)} |`,
  );
  return ['| Address | What it does | Units |', '|---|---|---|', ...rows].join('\n');
}

/** The operations that are tools, from the contracts. */
export function toolTable(): string {
  const rows = OPERATIONS.flatMap((operation) =>
    operation.tool ? `| \`${operation.tool}\` | ${operation.summary} | ${priceOf(operation)} |` : [],
  );
  return ['| Tool | What it does | Units |', '|---|---|---|', ...rows].join('\n');
}

function priceOf(operation: Operation): string {
  return operation.kind === 'queued' ? operation.price.text : 'free';
}

/** How long the operations may take, the longest first, from the contracts and the pools. */
export function timeoutTable(): string {
  const byTimeout = new Map<number, string[]>();
  for (const operation of OPERATIONS) {
    if (operation.kind !== 'queued') continue;
    const timeoutMs = Math.max(...operation.pools.map((pool) => POOLS[pool].timeoutMs));
    byTimeout.set(timeoutMs, [...(byTimeout.get(timeoutMs) ?? []), `\`${operation.routes[0].path}\``]);
  }
  const rows = [...byTimeout]
    .sort(([a], [b]) => b - a)
    .map(([timeoutMs, paths]) => {
      const patienceMs = timeoutMs + SYNC_PATIENCE_MS;
      return `| ${timeoutMs / 1000} s | ${patienceMs / 1000} s | ${paths.join(', ')} |`;
    });
  return ['| May take | A request waits | Operations |', '|---|---|---|', ...rows].join('\n');
}

/** One text a path, with all its methods; the canonical one first. */
export function addressesOf(routes: readonly Route[]): string[] {
  const methods = new Map<string, string[]>();
  for (const { method, path, type } of routes) {
    const address = type ? `${path}?type=${type}` : path;
    methods.set(address, [...(methods.get(address) ?? []), method]);
  }
  return [...methods].map(([address, list]) => `\`${list.sort().join(', ')} ${address}\``);
}
