import type { Operation } from '../src/operations/define.ts';
import { OPERATIONS } from '../src/operations/index.ts';
import { POOLS } from '../src/operations/pools.ts';
import { addressesOf } from '../src/site/docs/operation-tables.ts';

const HEADER = ['| Address | Aliases | Tool | Pool | Timeout | Units |', '|---|---|---|---|---|---|'];

/** Every operation as a row of a Markdown table, from its contract. */
export function operationsTable(): string {
  return [...HEADER, ...OPERATIONS.map(row)].join('\n');
}

function row(operation: Operation): string {
  const [first, ...aliases] = addressesOf(operation.routes);
  const pools = operation.kind === 'queued' ? operation.pools : [];
  const cells = [
    first ?? '',
    aliases.join(', '),
    `\`${operation.tool}\``,
    pools.map((pool) => `\`${pool}\``).join(', ') || 'at once',
    pools.map((pool) => `${POOLS[pool].timeoutMs / 1000} s`).join(', '),
    operation.kind === 'queued' ? operation.price.text : '0',
  ];
  return `| ${cells.join(' | ')} |`;
}
